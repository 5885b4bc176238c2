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
#include "troupe/queues/broadcast_cuts.h"

namespace troupe {

struct BroadcastOptions {
  std::string name = "broadcast";  ///< for messages
  Queue queue;                     ///< where the batches come from
  std::int64_t batch = 1;          ///< rows that are dequeued at a time
  bool drop_remainder = false;     ///< at the end of the data, fewer rows are dropped
  std::int64_t max_lag = 4;        ///< batches that the slowest branch may be behind the fastest
  std::uint64_t first = 0;         ///< the number of the batch that the queue gives first
  PipelineKeeper keeper;           ///< of the queue's pipeline, for checkpoints; may be none
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
  std::uint64_t join(const caf::actor& branch);
  caf::result<Batch> next();
  void leave(const caf::actor_addr& branch);
  StageStatus status() const { return clock_.read(); }
  caf::result<PipelineSnapshot> snapshot();

 private:
  using BatchNumber = std::uint64_t;
  struct Branch {
    BatchNumber next = 0;
    std::optional<caf::typed_response_promise<Batch>> waiting;
  };

  Branch* asking();
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
  BroadcastCuts cuts_;
  StageClock clock_;
};

/// Takes every batch out of a queue once and gives it to all its branches, by reference. A
/// batch is asked for when somebody wants it, and not before the slowest branch is less than
/// `max_lag` batches behind: so many are kept at most. Branches come and go at any time; a
/// batch that nobody has had waits for the next one. The end of the queue, or its failure,
/// reaches each branch behind its last batch.
///
/// A snapshot of the pipeline comes with the batches that have left it and that the branch has
/// not had: so checkpoints of branches that stand at different batches are whole, each by itself.
Broadcast::behavior_type batch_broadcast(Broadcast::stateful_pointer<BroadcastState> self,
                                         BroadcastOptions options);

}  // namespace troupe
