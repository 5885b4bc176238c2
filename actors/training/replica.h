#pragma once

#include <caf/typed_response_promise.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/compression.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/actors/training/gradient_accumulator.h"
#include "troupe/actors/training/local_parameters.h"
#include "troupe/actors/training/loss_scale.h"
#include "troupe/actors/training/row_reads.h"
#include "troupe/messages/protocol.h"
#include "troupe/messages/replica_memory.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

struct ReplicaOptions {
  std::uint32_t index = 0;
  ModelFragment fragment;
  BatchSource batches;
  Device device;
  std::vector<Shard> shards;
  std::size_t leading = 0;  ///< so many of them, the first ones, have the run's version; 0: all
  ShardKeeper keeper;       ///< says which copies take the place of shards that die; may be none
  TrainingListener listener;
  std::uint64_t seed = 0;    ///< of dropout and the like: mixed with the number of the batch
  std::size_t prefetch = 1;  ///< batches that are here before they are needed
  /// When it is told to stop it still computes all batches that it is given, and gives up a set
  /// that they do not fill: so all replicas end with the same batch.
  bool whole_sets = false;
  /// For steps on parameters of its own, as the shards have them.
  OptimizerConfig optimizer;
  Schedule learning_rate = 0.01;
  double clip_norm = 0;
  GradientCompression compression;
  LossScaleOptions loss_scale;  ///< for fragments that have one
  MemoryKeeper memories;        ///< told what it keeps for itself, and asked for it; may be none
};

struct ReplicaState {
  static constexpr const char* name = "troupe.replica";
  using Clock = std::chrono::steady_clock;

  std::string title;
  FragmentId fragment = 0;
  FragmentId ids_fragment = 0;
  bool loaded = false;
  caf::typed_response_promise<std::uint64_t> started;  ///< answered when the replica is done
  bool running = false;
  bool started_once = false;
  bool stopping = false;
  bool at_end = false;   ///< no batch will come any more
  bool cut_off = false;  ///< not by the end of the data, but because the run is stopping

  /// What this replica has to do with one shard.
  struct AtShard {
    Shard handle;
    bool joins = false;              ///< has asked to join, and has no answer
    bool commits = false;            ///< has committed, and has no answer
    std::vector<GradientPart> sent;  ///< of the set in progress, when shards have copies
    std::optional<RowPull> pull;     ///< that has no answer
  };
  /// Some rows of a variable, or all of it.
  struct Place {
    std::size_t shard = 0;
    RowRange range;  ///< total 0: all rows
  };
  /// Which of the rows that are pulled each shard is asked for: tables and places.
  using ShardPulls = std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>>;
  std::vector<AtShard> shards;
  std::map<std::string, std::vector<Place>> places;  ///< by variable; in the order of the rows

  // Parameters as fed: position of the values of each shard among the fragment's variables.
  std::vector<std::vector<std::int64_t>> feed_of;
  TensorList parameters;
  std::map<std::int64_t, std::map<std::size_t, Tensor>> pieces;  ///< of split ones: feed, shard
  std::vector<SavedTensor> slots;
  std::vector<Version> versions;
  std::size_t missing_parameters = 0;
  bool remembers = true;  ///< it knows what it, or the one before it, remembered
  Instructions instructions;
  std::optional<LocalParameters> local;

  std::deque<Batch> next;  ///< fetched ahead
  bool asked = false;
  Clock::time_point idle_since;

  // The gradient set in progress: one step, of one batch or several.
  bool in_set = false;
  std::uint64_t steps = 0;    ///< own count, from 1; part of every push
  std::uint64_t order = 0;    ///< of its first batch
  std::uint32_t batches = 0;  ///< begun
  std::int64_t rows = 0;      ///< of all of them
  std::vector<Batch> kept;    ///< to be computed again if the set is refused
  GradientAccumulator accumulated;
  GradientCompressor compressor;
  LossScale loss_scale;
  std::optional<CombinedValues> values;
  bool committed = false;
  std::size_t commits = 0;  ///< answers that are missing
  GradientCommit commit;    ///< that was sent
  ApplyResult result;
  StepReport report;
  Clock::time_point set_begun;
  Clock::time_point commit_begun;

  // The batch that the device computes.
  bool computing = false;
  std::uint64_t runs = 0;  ///< tells outputs of this run from those of others
  std::int64_t batch_rows = 0;
  Batch batch;             ///< that rows are pulled for
  std::uint64_t seed = 0;  ///< of its run
  ReadPlan reads;
  std::vector<std::vector<Tensor>> pulled;  ///< rows, by table and place
  std::size_t pulls = 0;                    ///< answers that are missing
  ShardPulls asked_rows;
  std::size_t outputs = 0;  ///< streamed outputs that have arrived
  std::optional<TensorList> fetches;
  TensorList sparse_rows;                 ///< waiting for their indices, by part
  std::vector<GradientPart> local_parts;  ///< for the step on its own parameters
  StageClock clock;
};

using ReplicaSelf = Replica::stateful_pointer<ReplicaState>;
using ReplicaOptionsPtr = std::shared_ptr<const ReplicaOptions>;

/// Trains: joins the shards, then for each batch computes the gradients on its device,
/// pushes every gradient to its variable's shard as soon as back-propagation has produced
/// it, commits, and goes on with the parameters that the commits answer. The next batches
/// are fetched while this one is computed. A batch of no rows takes part in the round
/// without a gradient.
///
/// Tables are not fed as a whole: for each batch it finds out which rows the graph reads,
/// running the part of the graph that computes their numbers when they are no component of
/// the batch, pulls each of those rows once, and feeds what reading them gives.
///
/// What it does between two commits the answers say: one batch, several whose gradients
/// are added up first, or several steps on parameters of its own, which are pushed then.
/// A set that was refused because it came too late, or that the replica was told to give
/// up, is no failure: its batches are computed again with the newest parameters. A
/// device that is still at work on it ends that run first, for nothing. When a copy takes
/// the place of a shard, everything that has no answer yet is sent to it again.
Replica::behavior_type replica(ReplicaSelf self, ReplicaOptions options);

}  // namespace troupe
