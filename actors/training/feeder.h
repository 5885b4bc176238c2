#pragma once

#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/run_recording.h"
#include "troupe/actors/training/batch_ledger.h"
#include "troupe/messages/data_state.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

struct FeederOptions {
  Queue queue;
  std::int64_t batch = 1;  ///< rows that are dequeued at a time
  std::uint32_t replicas = 1;
  bool split = false;      ///< each replica gets its share of every batch; else whole batches
  std::string record;      ///< a file for who gets which batch; empty for none
  std::string replay;      ///< such a file, of which it is done again
  std::string run;         ///< which run it is, for these
  PipelineKeeper keeper;   ///< of the queue's pipeline, for checkpoints; may be none
  std::uint64_t seed = 0;  ///< of the pipeline, for checkpoints
  std::shared_ptr<const DataState> from;  ///< to go on from; may be none
  std::uint64_t begins = 0;               ///< the number of the batch that the queue gives first
  /// Batches of the queue before this number are passed over, as are those that `from` has had.
  std::uint64_t first_batch = 0;
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

  /// A DataState in the making.
  struct Cut {
    DataState state;
    std::vector<Batch> arrived;  ///< since it began
    bool has_snapshot = false;
    caf::typed_response_promise<DataState> promise;
  };

  std::shared_ptr<RunRecorder> recorder;
  std::map<std::uint64_t, std::uint32_t> replayed;  ///< replicas by the numbers of their batches
  BatchLedger ledger;
  std::vector<std::shared_ptr<Cut>> cuts;
  std::uint64_t received = 0;     ///< batches from the queue, ever
  std::uint64_t first_batch = 0;  ///< those before it are passed over
  std::int64_t trained_before = 0;
  std::map<std::uint32_t, Seat> seats;
  std::set<std::uint32_t> members;  ///< batches are split over them
  std::set<std::uint32_t> retired;  ///< get no more than what is theirs already
  std::vector<Question> questions;
  bool split = false;
  bool asked = false;
  bool stopped = false;  ///< what comes now is for whoever goes on from a checkpoint
  StageClock clock;
  caf::error end;
};

/// Takes batches from a queue, hands them to replicas, and keeps them until it is told what
/// became of them: a replica that takes the place of another gets what that one had first, in
/// the same order. With `split`, batch i is cut into one share per replica, in order, without
/// a copy: what is trained on at step i does then not depend on the number of replicas or on
/// timing. Otherwise whoever asks gets the next whole batch. When that is changed, shares that
/// are waiting for their replica are handed out first.
///
/// Where (detach) names LeftBatch::kAnyReplica nobody gets more, with Code::cancelled: where
/// batches are split, all replicas have then had as many shares.
///
/// For a checkpoint it copies its books as they are when it is asked, and has a snapshot taken
/// of the pipeline; batches that leave the pipeline in between belong to the books. Going on
/// from there, what is outstanding is handed out first: shares to their replicas if there are
/// as many, otherwise as batches of their own.
SavingFeeder::behavior_type feeder(SavingFeeder::stateful_pointer<FeederState> self,
                                   FeederOptions options);

}  // namespace troupe
