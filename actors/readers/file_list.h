#pragma once

#include <string>
#include <vector>

namespace troupe {

/// The files that a list of paths and patterns stands for: "train-*.txt" becomes
/// its matches, sorted by name; the order of the list stays.
///
/// Throws invalid_argument for an empty list or a directory, not_found for a path
/// that does not exist or a pattern that matches nothing, and permission_denied
/// for a file that may not be read.
std::vector<std::string> expand_files(const std::vector<std::string>& patterns);

/// "3 files (a.txt, b.txt, ...)", for messages.
std::string describe_files(const std::vector<std::string>& files);

}  // namespace troupe
