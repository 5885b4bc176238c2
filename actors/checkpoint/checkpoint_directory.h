#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/checkpoint/checkpoint.h"

namespace troupe {

/// A directory with the checkpoints of a run, for reading. What it holds is read
/// from the disk at each call: the names of the manifests say which checkpoints
/// exist, so it may be moved, copied and tidied by hand.
class CheckpointDirectory {
 public:
  /// The directory need not exist: then it holds no checkpoint.
  explicit CheckpointDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Steps of the published checkpoints, ascending.
  std::vector<std::int64_t> list() const;
  std::optional<std::int64_t> latest() const;

  /// The checkpoint of a step, and the newest. Throw as Checkpoint::open() does.
  Checkpoint open(std::int64_t step) const;
  Checkpoint open_latest() const { return Checkpoint::open(path_); }

 private:
  std::string path_;
};

}  // namespace troupe
