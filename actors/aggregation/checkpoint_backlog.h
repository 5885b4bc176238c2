#pragma once

#include <cstddef>
#include <deque>
#include <functional>
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
  /// What comes now has to wait: there is no room, or others came before.
  bool holds() const { return full() || !later_.empty(); }
  void hold(std::function<void()> work) { later_.push_back(std::move(work)); }
  /// Does what was held and may happen now, in the order in which it came.
  void go_on();

 private:
  std::size_t most_;
  bool open_ = false;
  bool going_on_ = false;
  std::set<Version> unwritten_;
  std::deque<std::function<void()>> later_;
};

}  // namespace troupe
