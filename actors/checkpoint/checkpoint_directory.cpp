#include "troupe/actors/checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <filesystem>

#include "troupe/actors/checkpoint/checkpoint_names.h"

namespace troupe {

namespace fs = std::filesystem;

std::vector<std::int64_t> CheckpointDirectory::list() const {
  std::vector<std::int64_t> steps;
  std::error_code error;  // a directory that is not there is empty
  for (const auto& file : fs::directory_iterator(path_, error))
    if (const auto step = step_of_manifest(file.path().filename().string())) steps.push_back(*step);
  std::ranges::sort(steps);
  return steps;
}

std::optional<std::int64_t> CheckpointDirectory::latest() const {
  const auto steps = list();
  return steps.empty() ? std::nullopt : std::optional(steps.back());
}

Checkpoint CheckpointDirectory::open(std::int64_t step) const {
  return Checkpoint::open(in_directory(path_, checkpoint_name(step)));
}

}  // namespace troupe
