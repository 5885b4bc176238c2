#include "data_files.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include "troupe/actors/system_error.h"

namespace troupe::cli {

DataFiles::DataFiles(std::string directory) : directory_(std::move(directory)) {
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  if (!failed) return;
  errno = failed.value();
  system_error("make the directory", directory_);
}

AtomicFile& DataFiles::add(const std::string& name) {
  return *files_.emplace_back(std::make_unique<AtomicFile>(directory_ + "/" + name));
}

std::uint64_t DataFiles::commit() {
  std::uint64_t bytes = 0;
  for (const auto& file : files_) {
    file->commit();
    bytes += file->bytes();
  }
  files_.clear();
  return bytes;
}

}  // namespace troupe::cli
