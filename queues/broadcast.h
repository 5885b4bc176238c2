#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "troupe/messages/broadcast.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

struct BroadcastOptions {
  std::string name = "broadcast";  ///< for messages
  Queue queue;                     ///< where the batches come from
  std::int64_t batch = 1;          ///< rows that are dequeued at a time
  bool drop_remainder = false;     ///< at the end of the data, fewer rows are dropped
  std::int64_t max_lag = 4;        ///< batches that the slowest branch may be behind the fastest
};

/// Throws invalid_argument, naming the broadcast, for options that make no sense.
void validate(const BroadcastOptions& options);

class BroadcastState {
 public:
  static constexpr const char* name = "troupe.broadcast";

  explicit BroadcastState(Broadcast::pointer self) : self_(self) {}
  /// Nobody waits for ever on a broadcast that is gone.
  ~BroadcastState();

  void start(BroadcastOptions options);
  caf::ok_atom join(const caf::actor& branch);
  caf::result<Batch> next();
  void leave(const caf::actor_addr& branch);
  StageStatus status() const { return clock_.read(); }

 private:
  using BatchNumber = std::uint64_t;
  struct Branch {
    BatchNumber next = 0;
    std::optional<caf::typed_response_promise<Batch>> waiting;
  };

  BatchNumber newest() const { return first_ + kept_.size(); }
  void hand_out();
  void forget();
  void ask();
  void advance();

  Broadcast::pointer self_;
  BroadcastOptions options_;
  std::map<caf::actor_addr, Branch> branches_;
  std::deque<Batch> kept_;  // that some branch has not had, or nobody
  BatchNumber first_ = 0;   // of those
  BatchNumber untouched_ = 0;
  bool asked_ = false;
  caf::error end_;
  StageClock clock_;
};

/// Takes every batch out of a queue once and gives it to all its branches, by reference. A
/// batch is asked for when somebody wants it, and not before the slowest branch is less than
/// `max_lag` batches behind: so many are kept at most. Branches come and go at any time; a
/// batch that nobody has had waits for the next one. The end of the queue, or its failure,
/// reaches each branch behind its last batch.
Broadcast::behavior_type batch_broadcast(Broadcast::stateful_pointer<BroadcastState> self,
                                         BroadcastOptions options);

}  // namespace troupe
