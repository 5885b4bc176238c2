#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/aggregation/rounds.h"
#include "troupe/ops/random.h"

namespace troupe::contract {

/// Replicas that train without gradients and without actors: which of them is done next is
/// drawn from a seed. What their sets come to is decided as in a real run.
class RoundPlay {
 public:
  struct Options {
    std::string policy;
    std::size_t replicas = 2;
    std::int64_t batches = 20;  ///< of each replica; -1 for no end
    std::uint64_t seed = 1;
    std::uint64_t max_steps = 0;
  };
  explicit RoundPlay(const Options& options);

  /// One of those that compute is done. False when nobody computes.
  bool go_on();
  /// Until nobody computes. Throws when that does not come about within so many steps.
  void play_out(int most = 10'000);
  void join(std::uint32_t replica, std::int64_t batches);
  /// It dies, with what it is at.
  void kill(std::uint32_t replica);
  void change_policy(const std::string& policy);

  const Rounds& rounds() const { return rounds_; }
  std::int64_t trained() const { return trained_; }  ///< batches that are part of an update
  std::int64_t lost() const { return lost_; }        ///< with those who died
  std::int64_t left() const;                         ///< that wait for their replica
  std::size_t taking_part() const { return replicas_.size(); }
  std::vector<std::uint32_t> computing() const;
  /// Everything that was decided, as text.
  const std::string& log() const { return log_; }
  /// The replicas of each update.
  const std::vector<std::vector<std::uint32_t>>& updates() const { return updates_; }

 private:
  struct Replica {
    std::int64_t batches = 0;
    bool computing = false;
    bool dry = false;
    Version version = 0;
    std::uint64_t steps = 0;
    std::uint32_t updates = 1;  ///< of the set that it computes
  };
  void settle();
  void take(const RoundDecision& decision);
  void give_up(std::uint32_t replica);

  Rounds rounds_;
  RandomStream random_;
  std::map<std::uint32_t, Replica> replicas_;
  std::uint64_t order_ = 0;
  std::int64_t trained_ = 0;
  std::int64_t lost_ = 0;
  std::string log_;
  std::vector<std::vector<std::uint32_t>> updates_;
};

}  // namespace troupe::contract
