#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
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

inline int thread_count() {
  // The thread sanitizer starts a thread of its own with the first of the program.
  static const bool with_that_of_the_sanitizer = [] {
    std::thread([] {}).join();
    return true;
  }();
  (void)with_that_of_the_sanitizer;
  return static_cast<int>(thread_names().size());
}

/// thread_count(), once it is `wanted` or half a minute has passed: the system counts a
/// thread for a moment after its last instruction, and after it was joined.
inline int thread_count_after_the_end(int wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (thread_count() != wanted && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  return thread_count();
}

}  // namespace troupe::test
