#include "make_directory.h"

#include <cerrno>
#include <filesystem>

#include "troupe/actors/system_error.h"

namespace troupe::cli {

void make_directory(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (!failed) return;
  errno = failed.value();
  system_error("make the directory", path);
}

}  // namespace troupe::cli
