#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "troupe/messages/stages.h"

namespace troupe {

// What a checkpoint keeps of the data: everything that is between the files and the updates of
// one version of the parameters. Tensors are shared with those who go on working with them.

/// Which blocks of one reader a queue has taken, by their sequence numbers.
struct BlockReceipts {
  std::uint64_t below = 0;           ///< all before this one
  std::vector<std::uint64_t> above;  ///< and these, ascending
  std::uint64_t elements = 0;        ///< of all of them
  std::uint64_t left_out = 0;        ///< bad records of all of them

  bool has(std::uint64_t sequence) const {
    return sequence < below || std::binary_search(above.begin(), above.end(), sequence);
  }
};

/// What a queue has inside, as its kind writes it for itself.
struct StoreState {
  std::vector<Element> elements;
  std::vector<std::int64_t> numbers;  ///< positions in random numbers and the like
};

/// A queue between two of its messages.
struct QueueSnapshot {
  std::string kind;  ///< "RandomShuffleQueue"
  StoreState inside;
  std::vector<Element> arriving;  ///< of enqueues that wait for room, in their order
  std::vector<Element> leaving;   ///< taken out for a batch that is not full yet
  std::uint64_t enqueued = 0;     ///< elements, ever
  std::uint64_t dequeued = 0;
  std::uint64_t batches = 0;            ///< that have left
  std::uint32_t last_reader = 0;        ///< whose block came last
  std::vector<BlockReceipts> receipts;  ///< by reader
};

/// What a reader has to read, so that nothing is missing and nothing comes twice.
struct ReadingState {
  /// Records that were on their way to the queue.
  struct Piece {
    std::string position;  ///< of the first one, as the source writes it
    std::uint64_t records = 0;
  };
  std::vector<Piece> again;  ///< first these, each as one block
  std::string position;      ///< then everything from here on
};

/// One way into the queue of a pipeline.
struct LaneState {
  std::string description;  ///< of what is read
  bool positioned = true;   ///< otherwise nobody can say where it goes on
  ReadingState reading;
  std::uint64_t elements = 0;  ///< that the queue has taken from it, ever
  std::uint64_t left_out = 0;  ///< bad records among those
};

/// A pipeline at one moment, which nobody had to wait for.
struct PipelineSnapshot {
  QueueSnapshot queue;
  std::vector<LaneState> lanes;
  /// The last ones that have left the queue, where whoever asks has not had them: a branch of
  /// several that share a pipeline.
  std::vector<Batch> left;

  /// The number of the first batch that whoever asked has not had.
  std::uint64_t next() const { return queue.batches - left.size(); }
};

/// A batch that left the queue, but is part of no update yet.
struct LeftBatch {
  static constexpr std::uint32_t kAnyReplica = ~std::uint32_t{0};
  std::uint32_t replica = kAnyReplica;  ///< whose it is
  Batch batch;
};

/// The data of a training run as they stood at one version of the parameters: what is part of
/// no update yet is either outstanding or in the pipeline, and nothing is in both.
struct DataState {
  Version version = 0;
  std::string missing;     ///< why there is nothing else in it; empty when there is
  std::uint64_t seed = 0;  ///< of the pipeline
  std::int64_t rows = 0;   ///< of a batch
  std::uint32_t replicas = 1;
  bool split = false;        ///< outstanding are shares of batches, and each its replica's
  std::int64_t trained = 0;  ///< records that are part of an update, ever
  PipelineSnapshot pipeline;
  /// Batches of the pipeline before this number were trained on, or are outstanding, although
  /// they come once more: the pipeline is shared with others, who stood farther back.
  std::uint64_t first_batch = 0;
  std::vector<LeftBatch> outstanding;  ///< in the order in which they are computed
  AggregationStatus aggregation;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, BlockReceipts& x) {
  return f(caf::meta::type_name("BlockReceipts"), x.below, x.above, x.elements, x.left_out);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, StoreState& x) {
  return f(caf::meta::type_name("StoreState"), x.elements, x.numbers);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, QueueSnapshot& x) {
  return f(caf::meta::type_name("QueueSnapshot"), x.kind, x.inside, x.arriving, x.leaving,
           x.enqueued, x.dequeued, x.batches, x.last_reader, x.receipts);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ReadingState::Piece& x) {
  return f(caf::meta::type_name("Piece"), x.position, x.records);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ReadingState& x) {
  return f(caf::meta::type_name("ReadingState"), x.again, x.position);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, LaneState& x) {
  return f(caf::meta::type_name("LaneState"), x.description, x.positioned, x.reading, x.elements,
           x.left_out);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, PipelineSnapshot& x) {
  return f(caf::meta::type_name("PipelineSnapshot"), x.queue, x.lanes, x.left);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, LeftBatch& x) {
  return f(caf::meta::type_name("LeftBatch"), x.replica, x.batch);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, DataState& x) {
  return f(caf::meta::type_name("DataState"), x.version, x.missing, x.seed, x.rows, x.replicas,
           x.split, x.trained, x.pipeline, x.first_batch, x.outstanding, x.aggregation);
}

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_data_state, caf::id_block::troupe_stage_handles::end)

CAF_ADD_TYPE_ID(troupe_data_state, (troupe::BlockReceipts))
CAF_ADD_TYPE_ID(troupe_data_state, (troupe::QueueSnapshot))
CAF_ADD_TYPE_ID(troupe_data_state, (troupe::ReadingState))
CAF_ADD_TYPE_ID(troupe_data_state, (troupe::PipelineSnapshot))
CAF_ADD_TYPE_ID(troupe_data_state, (troupe::DataState))

CAF_ADD_ATOM(troupe_data_state, troupe, cut_atom, "cut")

CAF_END_TYPE_ID_BLOCK(troupe_data_state)

namespace troupe {

/// A queue that a checkpoint can keep.
///   (snapshot)          -> snapshot  failed_precondition when elements were given up
///   (restore, snapshot) -> ok        before anything else has come; invalid_argument when it is
///                                    of another kind of queue, or does not fit
using SavableQueue =
    Queue::extend<caf::replies_to<snapshot_atom>::with<QueueSnapshot>,
                  caf::replies_to<restore_atom, QueueSnapshot>::with<caf::ok_atom>>;

/// A reader that knows which of its blocks are still on their way. Whoever asks it for a block
/// must have passed on all that it was given before, but for the last one.
///   (cut)               -> ok        remembers all blocks from now on
///   (cut, receipts)     -> state     what is to be read by one that goes on from a queue with
///                                    these; ends what the last (cut) began
///   (restore, state)    -> ok        before anything was handed out; errors as (restore) of a
///                                    Reader
using SavableReader =
    Reader::extend<caf::replies_to<cut_atom>::with<caf::ok_atom>,
                   caf::replies_to<cut_atom, BlockReceipts>::with<ReadingState>,
                   caf::replies_to<restore_atom, ReadingState>::with<caf::ok_atom>>;

/// Can tell how a pipeline stands, while it goes on.
///   (snapshot) -> snapshot
using PipelineKeeper = caf::typed_actor<caf::replies_to<snapshot_atom>::with<PipelineSnapshot>>;

/// Knows which batches are part of no update yet: a feeder, as far as the coordinator needs it.
///   (cut, status) -> state   as its books are now, when it has been told of all that is settled
///                            at that version; the pipeline goes on. What cannot be had is
///                            DataState::missing
using DataKeeper = caf::typed_actor<caf::replies_to<cut_atom, AggregationStatus>::with<DataState>>;

using SavingFeeder = Feeder::extend_with<DataKeeper>;

/// Receives the data of a version of the parameters that is to be kept.
///   (snapshot, state)
using DataSink = caf::typed_actor<caf::reacts_to<snapshot_atom, DataState>>;

/// Writes checkpoints with the data in them, or waits for neither.
///   (save, snapshots, state) -> saved   as (save) of a Checkpointer
///   (save, snapshot, values) -> saved   weights that an evaluation with these values found best;
///                                       they are kept apart from the others
///   (assign, name, value)               goes into the state of every later checkpoint
using DataCheckpointer = Checkpointer::extend<
    caf::reacts_to<snapshot_atom, DataState>,
    caf::replies_to<save_atom, ShardSnapshot, EvaluationResult>::with<SavedCheckpoint>,
    caf::reacts_to<assign_atom, std::string, std::string>,
    caf::replies_to<save_atom, std::vector<ShardSnapshot>, DataState>::with<SavedCheckpoint>>;

/// A coordinator that has the data kept together with the parameters.
///   (assign, keeper)       it is asked at each version that is to be kept
///   (cut) -> state         as of the last decision
///   (restore, status)      the clocks and counts of the run that is gone on with
///   (policy, text, variables) -> ok   as (policy, text), for a group of variables that has one
///                          of its own; not_found when there is none called so
using SavingCoordinator =
    Coordinator::extend<caf::reacts_to<assign_atom, DataKeeper>,
                        caf::replies_to<cut_atom>::with<DataState>,
                        caf::reacts_to<restore_atom, AggregationStatus>,
                        caf::replies_to<policy_atom, std::string, std::string>::with<caf::ok_atom>>;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_data_state_handles, caf::id_block::troupe_data_state::end)

CAF_ADD_TYPE_ID(troupe_data_state_handles, (troupe::SavableQueue))
CAF_ADD_TYPE_ID(troupe_data_state_handles, (troupe::SavableReader))
CAF_ADD_TYPE_ID(troupe_data_state_handles, (troupe::PipelineKeeper))
CAF_ADD_TYPE_ID(troupe_data_state_handles, (troupe::DataKeeper))
CAF_ADD_TYPE_ID(troupe_data_state_handles, (troupe::DataSink))
CAF_ADD_TYPE_ID(troupe_data_state_handles, (troupe::DataCheckpointer))
CAF_ADD_TYPE_ID(troupe_data_state_handles, (troupe::SavingCoordinator))

CAF_END_TYPE_ID_BLOCK(troupe_data_state_handles)
