#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "troupe/messages/payloads.h"

namespace troupe {

/// What the shards of a group of variables were told, as long as it may have to be told again to
/// one that takes another's place.
class DecisionLog {
 public:
  struct Entry {
    RoundDecision decision;
    std::optional<double> factor;  ///< of its update, once all norms are known
  };

  /// Gives the decision the next number, from 1.
  void add(RoundDecision& decision);
  /// Of the last decision; 0 before the first one.
  std::uint64_t number() const { return number_; }
  /// Of the last decision.
  void set_factor(double factor) { entries_.back().factor = factor; }
  /// The last decision does not count. Its number is not given again.
  void take_back() { entries_.pop_back(); }
  /// In their order.
  const std::deque<Entry>& entries() const { return entries_; }
  /// The shard has carried out all decisions up to that number: forgets those that all of so many
  /// shards have.
  void carried_out(std::uint32_t shard, std::uint64_t number, std::size_t shards);
  /// The shard is not among them any more.
  void forget(std::uint32_t shard) { carried_out_.erase(shard); }

 private:
  std::uint64_t number_ = 0;
  std::deque<Entry> entries_;
  std::map<std::uint32_t, std::uint64_t> carried_out_;  // numbers, by shard
};

}  // namespace troupe
