#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/checkpoint/manifest.h"

namespace troupe {

/// Which checkpoints stay when a new one has been published.
struct Retention {
  int keep_last = 5;            ///< the newest ones; 0 keeps all
  std::int64_t keep_every = 0;  ///< those at multiples of this many steps, for good; 0: none
  double keep_every_hours = 0;  ///< the first of each such time of the clock, for good; 0: none
};

/// The steps among `steps` (ascending) that may go. The last one never does.
std::vector<std::int64_t> expired(const std::vector<std::int64_t>& steps,
                                  const Retention& retention);

/// A checkpoint of a directory, for what stays.
struct PublishedCheckpoint {
  std::int64_t step = 0;
  std::chrono::system_clock::time_point time{};
};
/// The same with the times at which they were published.
std::vector<std::int64_t> retired(const std::vector<PublishedCheckpoint>& checkpoints,
                                  const Retention& retention);

/// Writes one shard of a checkpoint: a safetensors file, complete and safe on
/// disk when this returns. Shards may be written in parallel, by different
/// threads or processes; the checkpoint exists once CheckpointWriter::publish()
/// has been given all of them. `shard` counts from 0. The CheckpointWriter of the
/// directory comes first: it removes shards that belong to no checkpoint.
///
/// Throws invalid_argument for two records of one name and for string tensors,
/// and as system_error() does when the system refuses.
ShardFile write_shard(const std::string& directory, std::int64_t step, int shard, int shards,
                      const std::vector<TensorRecord>& records);

/// Publishes checkpoints in a directory. There is one writer at a time; it may
/// be killed at any moment: whatever was published stays whole.
class CheckpointWriter {
 public:
  /// Makes the directory if it does not exist, and removes what a writer that was
  /// killed has left behind. Throws failed_precondition when another writer, in
  /// this or another process, has the directory, and naming the path when the
  /// system refuses.
  explicit CheckpointWriter(std::string directory, Retention retention = {});
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  const std::string& directory() const { return directory_; }

  /// Makes the checkpoint of these files exist: writes its manifest. A checkpoint
  /// of the same step is replaced. Then removes the checkpoints that `retention`
  /// does not keep, but never the newest that can be opened. A manifest without a
  /// time gets the present one.
  /// Throws invalid_argument for a tensor in two files, failed_precondition when a
  /// file is not there with its size; nothing has changed then.
  void publish(Manifest manifest);

 private:
  void lock();
  void remove_leftovers();
  void retire();
  void remove_checkpoint(std::int64_t step);
  void remove_unnamed_files(std::int64_t step);

  std::string directory_;
  Retention retention_;
  int lock_ = -1;
};

}  // namespace troupe
