#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace troupe::test {

/// The names of all threads of this process, sorted.
inline std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    if (std::string name; std::getline(file, name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

inline int thread_count() { return static_cast<int>(thread_names().size()); }

}  // namespace troupe::test
