#pragma once

#include <algorithm>
#include <caf/actor_addr.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/messages/inspect_tensor.h"
#include "troupe/ops/graph.h"
#include "troupe/ops/tensor.h"

namespace troupe {

// ---- data ------------------------------------------------------------------------------------

/// Records of one stream, as they stand in files, and where that is.
struct RecordRun {
  /// A record that does not follow the one before it in the same file.
  struct Jump {
    std::uint32_t index = 0;  ///< of the record in the run
    std::string file;         ///< empty when it is the same
    std::int64_t record = 1;  ///< its number in the file; 0 where it is the whole file
  };

  Tensor bytes;                       ///< uint8; at least 64 readable bytes lie before the first
                                      ///< and after the last record
  std::vector<std::uint32_t> begins;  ///< of each record in `bytes`
  std::vector<std::uint32_t> ends;    ///< one past its last byte
  std::string file;                   ///< of the first record
  std::int64_t first_record = 1;      ///< its number in the file: the line, from 1; 0 where
                                      ///< it is the whole file
  std::vector<Jump> jumps;            ///< in the order of their indices; mostly there is none
  std::uint64_t epoch = 0;            ///< which pass over the data this is, from 0
  bool by_lines = false;              ///< records are numbered by the lines they begin in, and may
                                      ///< be longer than one: lines are counted when it matters

  std::size_t count() const { return begins.size(); }
  const char* begin(std::size_t i) const {
    return reinterpret_cast<const char*>(bytes.data()) + begins[i];
  }
  const char* end(std::size_t i) const {
    return reinterpret_cast<const char*>(bytes.data()) + ends[i];
  }
  const std::string& file_of(std::size_t i) const {
    const auto* name = &file;
    for (const auto& jump : jumps)
      if (jump.index <= i && !jump.file.empty()) name = &jump.file;
    return *name;
  }
  /// The number of record i in its file.
  std::int64_t number_of(std::size_t i) const {
    std::size_t from = 0;
    auto number = first_record;
    for (const auto& jump : jumps)
      if (jump.index <= i) {
        from = jump.index;
        number = jump.record;
      }
    return number + (by_lines ? std::count(begin(from), begin(i), '\n')
                              : static_cast<std::int64_t>(i - from));
  }
  /// "data/x.csv:1532", or "data/cat.jpg" for a record that is the whole file; for messages.
  std::string place(std::size_t i) const {
    const auto number = number_of(i);
    return number > 0 ? file_of(i) + ":" + std::to_string(number) : file_of(i);
  }
};

/// What a reader hands out: the same number of records of each of its streams
/// (one, or several that are zipped record by record).
struct RecordBlock {
  std::uint64_t sequence = 0;  ///< position of the block in the reader's output, from 0
  std::vector<RecordRun> streams;
  std::size_t count() const { return streams.empty() ? 0 : streams[0].count(); }
  /// Bytes of all records.
  std::uint64_t record_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& run : streams)
      for (std::size_t i = 0; i < run.count(); ++i) bytes += run.ends[i] - run.begins[i];
    return bytes;
  }
};

/// One example: a tuple of tensors, such as {image, label}.
using Element = TensorList;

/// For blocks of which nobody knows which records they are.
inline constexpr std::uint32_t kNoReader = ~std::uint32_t{0};

/// Consecutive examples, moved together: one wake-up for many records.
struct ElementBlock {
  std::uint64_t sequence = 0;  ///< of the record block it comes from
  std::vector<Element> elements;
  std::uint32_t reader = 0;    ///< of the record block, among those that feed one queue
  std::uint64_t left_out = 0;  ///< its bad records
};

/// Examples stacked along a new first axis, one tensor for each component.
struct Batch {
  std::uint64_t sequence = 0;  ///< position in the queue's output, from 0
  TensorList components;
  std::int64_t rows() const { return components.empty() ? 0 : components[0].shape()[0]; }
};

/// Where a stage of the data path (reader, decoder, feeder, replica) spends its time.
/// The counters only grow: the difference of two of them says what happened between.
struct StageStatus {
  std::uint64_t records = 0;                       ///< passed on
  std::uint64_t bytes = 0;                         ///< passed on, as they came in; 0 if not known
  std::chrono::nanoseconds busy{0};                ///< at work
  std::chrono::nanoseconds waiting_for_input{0};   ///< for the stage before it
  std::chrono::nanoseconds waiting_for_output{0};  ///< for the stage behind it to take more
};

/// Where a reader goes on: with the first record that it has not handed out.
struct ReaderSnapshot {
  std::string position;        ///< as the reader writes it, for itself
  std::uint64_t sequence = 0;  ///< of the next block
};

// ---- queues ----------------------------------------------------------------------------------

/// How long a request may wait: kForever, or a time after which the queue itself
/// answers deadline_exceeded. (A caller's own request timeout would lose the
/// element that is delivered later.)
using Timeout = std::chrono::milliseconds;
inline constexpr Timeout kForever{-1};

struct EnqueueOptions {
  bool atomic = false;  ///< all elements together, or none; otherwise as room appears
  Timeout timeout = kForever;
};

struct DequeueRequest {
  std::int64_t count = 1;
  bool up_to = false;  ///< after the close, fewer are fine
  Timeout timeout = kForever;
};

/// Why a stream ends: Code::out_of_range for the end of the data, anything else is a failure.
struct CloseReason {
  Code code = Code::out_of_range;
  std::string message = "end of data";
  bool failed() const { return code != Code::out_of_range && code != Code::ok; }
};

struct CloseRequest {
  bool cancel_pending = false;  ///< also give up the enqueues that are waiting for room
  CloseReason reason;
  Timeout timeout = kForever;  ///< after it they are given up all the same
};

/// A look at an element of a staging area, which stays inside.
struct PeekRequest {
  std::int64_t index = 0;  ///< 0 is the element that leaves next
  Timeout timeout = kForever;
};

struct QueueStatus {
  std::string name;
  std::string kind;       ///< "RandomShuffleQueue"
  std::int64_t size = 0;  ///< elements
  std::int64_t capacity = 0;
  std::int64_t floor = 0;  ///< elements that stay behind while it is open
  std::uint64_t bytes = 0;
  std::uint64_t capacity_bytes = 0;  ///< 0 for no bound of its own
  bool closed = false;
  CloseReason reason;
  std::int64_t producers = 0;
  std::int64_t waiting_enqueues = 0;
  std::int64_t waiting_dequeues = 0;
  std::uint64_t enqueued = 0;  ///< elements, ever
  std::uint64_t dequeued = 0;
  std::chrono::nanoseconds blocked_on_full{0};   ///< time during which an enqueue was waiting
  std::chrono::nanoseconds blocked_on_empty{0};  ///< time during which a dequeue was waiting
};

/// One component of some of a barrier's elements.
struct BarrierInsert {
  std::int64_t component = 0;
  std::vector<std::string> keys;
  Tensor values;  ///< a row for each key
};

/// Complete elements of a barrier.
struct BarrierBatch {
  std::vector<std::string> keys;
  TensorList components;  ///< a row for each key
  /// The insert that each key first came with; those that bring new keys are counted, from 0.
  std::vector<std::int64_t> indices;
};

struct BarrierStatus {
  std::string name;
  std::int64_t ready = 0;       ///< elements with all components
  std::int64_t incomplete = 0;  ///< elements that still miss one
  bool closed = false;
  CloseReason reason;
};

// ---- devices ---------------------------------------------------------------------------------

/// A part of a graph to be run again and again. Feeds are placeholders or
/// variables, by name; shapes are settled at each run from what is fed.
struct FragmentSpec {
  GraphPtr graph;
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;   ///< answered together when the run ends
  std::vector<std::string> streamed;  ///< sent to the request's sink as soon as they are ready
  std::vector<std::string> targets;   ///< run, but not answered
};
using FragmentId = std::uint64_t;

struct RunResult {
  TensorList fetches;
  std::chrono::nanoseconds busy{0};  ///< time in kernels, all threads together
};

struct DeviceStatus {
  std::string name;  ///< "/device:CPU:0"
  int intra_op = 1;
  int inter_op = 1;
  std::uint64_t runs = 0;
  std::chrono::nanoseconds busy{0};
  std::uint64_t fragments = 0;    ///< loaded
  std::uint64_t arena_bytes = 0;  ///< planned memory of all compiled fragments
};

/// What one part of a graph that is cut over several devices holds at the moment.
struct PartStatus {
  std::uint64_t steps = 0;   ///< begun and not ended
  std::uint64_t values = 0;  ///< of those steps, and of steps that have not begun here
};

// ---- parameters ------------------------------------------------------------------------------

using Version = std::uint64_t;

/// A tensor as a checkpoint keeps it: the value of a variable or one of the
/// optimizer's slots for it.
struct SavedTensor {
  std::string variable;
  std::string slot;  ///< "" for the value itself, "momentum", "average", ...
  Tensor values;
  TensorList blocks = {};  ///< of a table instead of the values: rows of one block after another
  std::int64_t first_row = 0;   ///< of a variable that is split over shards: where this part begins
  std::int64_t total_rows = 0;  ///< of the whole variable; 0 when this is all of it
};

/// Which rows of its variable a shard has; all of them when `total` is 0.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t total = 0;
};

/// The variables of one shard at one version: shared, never written again.
struct Parameters {
  Version version = 0;
  std::vector<std::string> names;  ///< empty when the caller's version is the newest: no change
  TensorList values;               ///< a table, which is pulled by rows, has none: an empty tensor
  std::vector<SavedTensor> slots;  ///< the optimizer's, for replicas that make local steps
  std::vector<RowRange> ranges = {};  ///< with the names; empty when no variable is split
};

/// Rows of one variable.
struct WantedRows {
  std::string variable;
  Tensor ids;  ///< int64 [count], of the whole variable, also when it is split
};

struct RowPull {
  std::vector<WantedRows> wanted;
  bool with_values = false;  ///< also everything that is not a table, at the same version
  bool averages = false;     ///< moving averages in place of values, where there are some
  bool only_here = false;    ///< rows that live in other shards are left out
};

/// The answer: one tensor [count, ...] for each entry of RowPull::wanted, in the order of the
/// ids; with only_here an empty one for a variable of another shard.
struct PulledRows {
  Parameters parameters;
  TensorList rows;
};

enum class PartKind : std::uint8_t {
  gradient,         ///< values has the variable's shape
  sparse_gradient,  ///< one row of values for each index
  assignment,       ///< the variable's new value (moving averages of batch normalisation)
};

/// What one replica has to say about one variable at one step.
struct GradientPart {
  PartKind kind = PartKind::gradient;
  std::uint32_t replica = 0;
  std::uint64_t step = 0;  ///< the replica's own count: a repeated push is applied once
  std::string variable;
  Tensor values;
  Tensor indices;         ///< sparse_gradient only: int32 or int64 [rows]
  std::string slot = {};  ///< assignment only: of the optimizer's slot of that name
};

/// The end of a gradient set: everything for this (replica, step) has been pushed.
struct GradientCommit {
  std::uint32_t replica = 0;
  std::uint64_t step = 0;
  Version version = 0;        ///< the gradient was computed from these parameters
  double weight = 1;          ///< number of examples; 0 for a replica that had none
  std::uint64_t order = 0;    ///< deterministic mode adds the sets of a round in this order
  std::uint32_t updates = 1;  ///< steps that the replica made on its own parameters
  bool given_up = false;      ///< the replica was told to stop: what was pushed does not count
  std::uint32_t batches = 1;  ///< of the set; `order` is the number of the first
};

/// What a replica has to do before it pushes again.
struct Instructions {
  bool finished = false;          ///< nothing: the last step of the run is made or given out
  std::uint32_t accumulate = 1;   ///< batches that are one gradient set
  std::uint32_t local_steps = 0;  ///< steps on its own parameters; 0: push gradients
  bool may_be_refused = false;    ///< keep the batches until the set is part of an update
};

enum class SetFate : std::uint8_t {
  applied,   ///< it is, or will be, part of an update
  stale,     ///< refused: it came too late
  given_up,  ///< by its replica
  skipped,   ///< it had values that are not finite
};

/// The answer to a commit: what became of the set, and the parameters to go on with.
struct ApplyResult {
  SetFate fate = SetFate::applied;
  std::uint64_t staleness = 0;  ///< updates between the parameters that were read and this one
  double learning_rate = 0;
  Parameters parameters;
  Instructions next;
  Version step = 0;  ///< the version that the set is part of
};

/// Everything a shard has, at one version: shared, never written again.
struct ShardSnapshot {
  std::uint32_t shard = 0;
  Version version = 0;  ///< of the run, when it is to be kept
  std::vector<SavedTensor> tensors;
  std::string group = {};   ///< which variables have a policy of their own, if it is some of them
  Version own_version = 0;  ///< updates of these variables; `version` where there are no groups
};

/// How often each staleness was met.
struct StalenessCounts {
  static constexpr std::size_t kMost = 63;  ///< counts this much and more
  std::vector<std::uint64_t> counts;        ///< by staleness; as long as needed

  void add(std::uint64_t staleness) {
    const auto at = std::min<std::uint64_t>(staleness, kMost);
    if (counts.size() <= at) counts.resize(at + 1);
    ++counts[at];
  }
};

struct ShardStatus {
  std::string name;
  Version version = 0;
  std::uint64_t bytes = 0;  ///< values and slots
  std::uint64_t pulls = 0;
  std::uint64_t updates = 0;
  std::int64_t replicas = 0;  ///< that take part
  std::chrono::nanoseconds busy{0};
  StalenessCounts staleness;      ///< of the sets that were applied
  std::uint64_t pushes = 0;       ///< parts of gradient sets that have come
  std::uint64_t pulled_rows = 0;  ///< of tables
  std::uint64_t pushed_rows = 0;  ///< of sparse gradients
  std::int64_t backups = 0;       ///< copies that have everything that was acknowledged
};

// ---- aggregation -----------------------------------------------------------------------------

/// What a shard tells the coordinator: it has its part of a set.
struct SetReport {
  std::uint32_t shard = 0;
  GradientCommit commit;
  Code code = Code::ok;         ///< of what is wrong with it
  std::string fault;            ///< in words; the set does not fit
  std::string not_finite;       ///< a variable for which something was pushed that is not finite
  std::uint64_t decisions = 0;  ///< that the shard has carried out
};

/// A set that is not part of an update.
struct Refusal {
  std::uint32_t replica = 0;
  std::uint64_t step = 0;
  SetFate fate = SetFate::stale;
  std::uint64_t staleness = 0;
  Code code = Code::ok;  ///< when it is the failure of its replica
  std::string message = {};
};

/// What all shards do, in the order of the decisions: then all have the same versions.
struct RoundDecision {
  struct Member {
    std::uint32_t replica = 0;
    std::uint64_t step = 0;
    double share = 0;  ///< of its gradient in the update
    std::uint64_t staleness = 0;
  };
  std::vector<Member> members;  ///< in the order in which they are added; empty for no update
  std::uint64_t updates = 0;    ///< by which the version grows
  double clip_norm = 0;         ///< tell the norm and wait for the factor; 0 for no clipping
  std::vector<Refusal> refused;
  std::vector<std::uint32_t> departed;  ///< replicas whose other sets are forgotten
  std::vector<std::uint32_t> released;  ///< replicas that get the parameters now, and go on
  Instructions next;                    ///< for those
  std::string policy;                   ///< from now on; empty for no change
  std::uint64_t number = 0;             ///< of the decision, from 1
  Version keep = 0;  ///< what there is now is to be kept, as of this version of the run; 0: nothing
};

/// The batches that a replica made one set of, and what became of it. They are those that it
/// was given from number `first` on.
struct SettledSet {
  std::uint32_t replica = 0;
  std::uint64_t first = 0;
  std::uint32_t batches = 1;
  SetFate fate = SetFate::applied;
};

/// What one decision means for whoever handed the batches out.
struct Settlement {
  Version version = 0;  ///< of the parameters after it
  std::vector<SettledSet> sets;
};

/// A batch whose records are not part of an update yet.
struct OutstandingBatch {
  static constexpr std::uint32_t kAnyReplica = ~std::uint32_t{0};
  std::uint32_t replica = 0;  ///< whose it is
  bool handed_out = false;    ///< otherwise it waits for its replica
  Batch batch;
};

/// The books of a feeder.
struct LedgerStatus {
  Version version = 0;  ///< of the last settlement
  /// By replica, and those of each in the order in which it computes them.
  std::vector<OutstandingBatch> outstanding;
  std::int64_t trained = 0;   ///< records that are part of an update
  std::int64_t repeated = 0;  ///< given to another replica because the first was lost
  std::int64_t lost = 0;      ///< in sets that were left out, and are not computed again
};

/// How one replica's sets have fared.
struct ReplicaStanding {
  std::uint32_t replica = 0;
  bool takes_part = false;  ///< still
  std::uint64_t clock = 0;  ///< steps done
  StalenessCounts staleness;
  std::uint64_t stale = 0;    ///< sets that were refused, or given up when told
  std::uint64_t skipped = 0;  ///< sets with values that are not finite
  std::uint64_t late = 0;     ///< deadlines missed
};

/// How the updates of a run were put together.
struct AggregationStatus {
  std::string policy;
  Version version = 0;
  std::uint64_t updates = 0;  ///< rounds
  std::uint64_t clipped = 0;  ///< updates that were made smaller
  std::vector<ReplicaStanding> replicas;
  std::string variables = {};                  ///< of which this is the policy; empty for the run's
  std::vector<AggregationStatus> groups = {};  ///< variables that have policies of their own
};

// ---- copies of shards ------------------------------------------------------------------------

/// What a shard has of one replica.
struct MemberCopy {
  struct Set {
    std::uint64_t step = 0;
    bool committed = false;
    GradientCommit commit;
    std::vector<GradientPart> parts;
  };
  std::uint32_t replica = 0;
  caf::actor_addr address;
  std::uint64_t last_step = 0;
  std::vector<Set> sets;
  bool waits = false;
  bool joins = false;
  bool left = false;
  ApplyResult result;    ///< what it will be told
  ApplyResult answered;  ///< what it was told last, without the parameters
};

/// All that a shard is, between two decisions.
struct ShardCopy {
  ShardSnapshot store;
  std::vector<MemberCopy> members;
  Instructions instructions;
  std::string policy;
  std::uint64_t decisions = 0;
  double learning_rate = 0;
  StalenessCounts staleness;
  std::uint64_t updates = 0;
};

enum class ShardEntryKind : std::uint8_t { push, commit, join, decide, norm, restore };

/// Something that a shard was told, for its copies: whoever does the same in the same order
/// has the same.
struct ShardEntry {
  ShardEntryKind kind = ShardEntryKind::push;
  std::uint32_t replica = 0;  ///< join
  caf::actor_addr sender;     ///< commit, join
  GradientPart part;          ///< push
  GradientCommit commit;
  RoundDecision decision;
  double factor = 1;       ///< norm
  ShardSnapshot snapshot;  ///< restore
};

/// Something that goes on well, but that somebody should know of.
struct TrainingEvent {
  std::uint64_t step = 0;
  std::string message;
};

// ---- training --------------------------------------------------------------------------------

/// What a replica tells after each of its steps.
struct StepReport {
  std::uint32_t replica = 0;
  std::uint64_t step = 0;  ///< the global step: updates of the parameters so far, this one included
  std::int64_t examples = 0;
  std::vector<double> values;  ///< loss, then the metrics, in the order of the model
  double learning_rate = 0;
  std::uint64_t staleness = 0;
  std::chrono::nanoseconds waited_for_data{0};
  std::chrono::nanoseconds waited_for_parameters{0};
  std::chrono::nanoseconds computed{0};
};

struct EvaluationResult {
  Version version = 0;
  std::int64_t examples = 0;
  std::vector<double> values;  ///< loss, then the metrics, over the whole evaluation set
};

/// A checkpoint that is safely on disk.
struct SavedCheckpoint {
  std::uint64_t step = 0;
  std::string path;
};

/// Why a training run ended.
enum class Ending : std::uint8_t {
  steps_done,   ///< the number of steps that was asked for
  end_of_data,  ///< all epochs
  goal_met,     ///< the evaluation loss is below its bound
  stopped,      ///< somebody asked
  failed,
  no_better,  ///< evaluations have not become better for as long as was said
};

/// How a training run ended, and where it stands.
struct TrainingOutcome {
  Ending ending = Ending::steps_done;
  Code code = Code::ok;  ///< of the first cause, when it failed
  std::string message;
  std::uint64_t steps = 0;         ///< updates of the parameters, those before a resume included
  std::int64_t examples = 0;       ///< trained on in this run
  std::vector<double> training;    ///< loss and metrics of the last step
  std::vector<double> evaluation;  ///< loss and metrics of the last evaluation; empty for none
  std::string checkpoint;          ///< path of the last one; empty for none
  AggregationStatus aggregation;
  std::uint64_t restarts = 0;         ///< of replicas that were lost
  std::int64_t records_repeated = 0;  ///< computed again for that: what was lost did not count
  std::int64_t records_lost = 0;      ///< left out because of values that are not finite
  std::int64_t records_left = 0;      ///< taken from the queue, but not trained on when it ended
  std::chrono::nanoseconds elapsed{0};
  std::chrono::nanoseconds until_first_step{0};
};

}  // namespace troupe
