#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "troupe/messages/protocol.h"

namespace troupe {

/// What a shard has to say but may not yet, because one of its copies lacks an entry that
/// it follows from. Entries and effects have the order in which they came.
class HeldEffects {
 public:
  using Effect = std::function<void()>;

  /// These copies count from now on. One that is new has nothing before it acknowledges.
  void expect(const std::vector<ShardMirror>& mirrors);
  std::vector<ShardMirror> mirrors() const;
  bool expects(const ShardMirror& mirror) const;
  /// Those that have acknowledged something.
  std::int64_t in_step() const;

  /// A new entry for all copies: its number.
  std::uint64_t log() { return ++logged_; }
  /// The number of the last entry: what a copy made now acknowledges.
  std::uint64_t last() const { return logged_; }
  void acknowledge(const ShardMirror& mirror, std::uint64_t number);

  /// Runs it as soon as all copies have all entries so far; at once when they have.
  void add(Effect effect);

 private:
  void release();

  std::vector<std::pair<ShardMirror, std::uint64_t>> acknowledged_;
  std::uint64_t logged_ = 1;  // entry 1 is the beginning, which every copy is told
  std::deque<std::pair<std::uint64_t, Effect>> held_;
};

}  // namespace troupe
