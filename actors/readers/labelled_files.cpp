#include "troupe/actors/readers/labelled_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;

bool hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

bool has_extension(const fs::path& path, const std::vector<std::string>& extensions) {
  auto extension = path.extension().string();
  for (auto& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::find(extensions, extension) != extensions.end();
}

[[noreturn]] void refuse(const std::string& directory, const std::error_code& why) {
  fail(why == std::errc::no_such_file_or_directory ? Code::not_found : Code::permission_denied,
       "cannot read ", directory, ": ", why.message());
}

std::vector<std::string> class_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (entry->is_directory() && !hidden(entry->path()))
      names.push_back(entry->path().filename().string());
  if (failed) refuse(directory, failed);
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> files_below(const std::string& directory,
                                     const std::vector<std::string>& extensions) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (hidden(entry->path()))
      entry.disable_recursion_pending();
    else if (entry->is_regular_file() && has_extension(entry->path(), extensions))
      paths.push_back(entry->path().string());
  }
  if (failed) refuse(directory, failed);
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

LabelledFiles files_by_folder(const std::string& directory,
                              const std::vector<std::string>& extensions) {
  LabelledFiles all;
  all.classes = class_names(directory);
  if (all.classes.empty())
    fail(Code::invalid_argument, directory, " has no folders: there must be one for each class");
  for (std::size_t label = 0; label < all.classes.size(); ++label) {
    const auto folder = (fs::path(directory) / all.classes[label]).string();
    const auto paths = files_below(folder, extensions);
    if (paths.empty()) {
      std::string endings;
      for (const auto& extension : extensions) endings += (endings.empty() ? "" : ", ") + extension;
      fail(Code::invalid_argument, folder, " has no files of the kinds that are looked for (",
           endings, ")");
    }
    for (const auto& path : paths) all.files.push_back({path, std::to_string(label), path, 0});
  }
  all.description =
      text(all.files.size(), all.files.size() == 1 ? " file in " : " files in ", all.classes.size(),
           all.classes.size() == 1 ? " class" : " classes", " below ", directory);
  return all;
}

LabelledFiles files_by_list(const std::string& list, char separator, const std::string& root) {
  std::error_code failed;
  if (!fs::is_regular_file(list, failed)) fail(Code::not_found, "there is no file ", list);
  std::ifstream in(list, std::ios::binary);
  const auto base = root.empty() ? fs::path(list).parent_path() : fs::path(root);
  LabelledFiles all;
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const auto end = line.find(separator);
    const auto label = end == std::string::npos ? end : line.find_first_not_of(separator, end);
    if (end == 0 || label == std::string::npos)
      fail(Code::invalid_argument, list, ':', number,
           ": a line is a path, a separator and a label, but this is \"", line.substr(0, 80), '"');
    all.files.push_back({(base / line.substr(0, end)).string(), line.substr(label), list, number});
  }
  if (!in.eof()) fail(Code::unavailable, "cannot read ", list);
  if (all.files.empty()) fail(Code::invalid_argument, list, " lists no files");
  all.description =
      text(all.files.size(), all.files.size() == 1 ? " file" : " files", " listed in ", list);
  return all;
}

}  // namespace troupe
