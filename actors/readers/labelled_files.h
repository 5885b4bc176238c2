#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// A file whose bytes are one record, and what is known about it.
struct LabelledFile {
  std::string path;
  std::string label;      ///< text: a class number, or all that follows the path in a list
  std::string origin;     ///< the file that says so, for messages: the list, or the path itself
  std::int64_t line = 0;  ///< in the list; 0 where there is none
};

struct LabelledFiles {
  std::vector<LabelledFile> files;
  std::vector<std::string> classes;  ///< the names behind the class numbers, if there are some
  std::string description;           ///< "200 files in 2 classes below train", for messages
};

/// The files below the folders of a directory: one class for each folder, numbered from
/// 0 in the order of their names; then the files of a class in the order of theirs,
/// those in folders further down included. Hidden files and folders, and files with
/// another extension (in any case) are left out.
///
/// Throws not_found for what is not there, and invalid_argument where a folder has
/// no such file, or the directory no folder.
LabelledFiles files_by_folder(const std::string& directory,
                              const std::vector<std::string>& extensions = {".jpg", ".jpeg",
                                                                            ".png"});

/// The files that a text file lists, one a line: a path, a separator, and the label, which
/// is the rest of the line. Paths are relative to `root`, or to the folder of the list.
/// Empty lines are left out. Whether the files are there shows when they are read.
///
/// Throws invalid_argument with the line that has no label, or for an empty list.
LabelledFiles files_by_list(const std::string& list, char separator = ' ',
                            const std::string& root = "");

}  // namespace troupe
