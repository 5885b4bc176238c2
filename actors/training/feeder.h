#pragma once

#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "troupe/actors/training/batch_ledger.h"
#include "troupe/messages/protocol.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

struct FeederOptions {
  Queue queue;
  std::int64_t batch = 1;  ///< rows that are dequeued at a time
  std::uint32_t replicas = 1;
  bool split = false;           ///< each replica gets its share of every batch; else whole batches
  bool drop_remainder = false;  ///< at the end of the data, fewer rows than `batch` are dropped
};

struct FeederState {
  static constexpr const char* name = "troupe.feeder";

  /// A replica that waits for a batch.
  struct Request {
    caf::actor_addr from;
    caf::typed_response_promise<Batch> promise;
  };
  /// Who is the replica of one number.
  struct Seat {
    caf::actor_addr taken_by;
    caf::actor_addr left;  ///< the one before
    std::vector<Request> requests;
  };
  /// Somebody who wants to know what a replica has left behind.
  struct Question {
    std::uint32_t replica = 0;
    caf::actor_addr who;
    caf::typed_response_promise<LedgerStatus> promise;
  };

  BatchLedger ledger;
  std::map<std::uint32_t, Seat> seats;
  std::set<std::uint32_t> members;  ///< batches are split over them
  std::set<std::uint32_t> retired;  ///< get no more than what is theirs already
  std::vector<Question> questions;
  bool split = false;
  bool asked = false;
  StageClock clock;
  caf::error end;
};

/// Takes batches from a queue, hands them to replicas, and keeps them until it is told what
/// became of them: a replica that takes the place of another gets what that one had first, in
/// the same order. With `split`, batch i is cut into one share per replica, in order, without
/// a copy: what is trained on at step i does then not depend on the number of replicas or on
/// timing. Otherwise whoever asks gets the next whole batch. When that is changed, shares that
/// are waiting for their replica are handed out first.
Feeder::behavior_type feeder(Feeder::stateful_pointer<FeederState> self, FeederOptions options);

}  // namespace troupe
