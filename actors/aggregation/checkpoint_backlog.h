#pragma once

#include <cstddef>
#include <set>

#include "troupe/messages/payloads.h"

namespace troupe {

/// Versions that are to be kept and are not on disk yet. Each of them holds a copy of the model in
/// memory: while there are `most`, nothing happens that could bring about more of them.
class CheckpointBacklog {
 public:
  explicit CheckpointBacklog(std::size_t most = 2) : most_(most) {}

  void add(Version version) {
    if (!open_) unwritten_.insert(version);
  }
  /// It is on disk; older ones that are not will never be.
  void written(Version version) {
    unwritten_.erase(unwritten_.begin(), unwritten_.upper_bound(version));
  }
  /// Nobody can say what becomes of those so far.
  void forget() { unwritten_.clear(); }
  /// Nothing waits any more, ever.
  void open() { open_ = true; }

  bool full() const { return !open_ && unwritten_.size() >= most_; }

 private:
  std::size_t most_;
  bool open_ = false;
  std::set<Version> unwritten_;
};

}  // namespace troupe
