#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "troupe/actors/training/fragments.h"
#include "troupe/actors/training/row_reads.h"
#include "troupe/messages/protocol.h"

namespace troupe {

/// An Evaluator that says how it is doing.
///   (status) -> status   records are examples; busy is its time in kernels, all threads together
///   (snapshot) -> snapshot   the variables that the last evaluation was made with, if they are
///                            kept; failed_precondition otherwise
using ObservedEvaluator = Evaluator::extend<caf::replies_to<status_atom>::with<StageStatus>,
                                            caf::replies_to<snapshot_atom>::with<ShardSnapshot>>;

struct EvaluatorOptions {
  ModelFragment fragment;
  Queue examples;             ///< the evaluation set, in order; read to its end once
  std::int64_t batch = 1000;  ///< rows per run
  Device device;
  std::vector<Shard> shards;
  std::size_t leading = 0;  ///< so many of them, the first ones, have the run's version; 0: all
  ShardKeeper keeper;       ///< says which copies take the place of shards that die; may be none
  bool keeps_variables = false;  ///< of the last evaluation
  bool averages = false;         ///< the moving averages of the variables instead of their values
  /// The most bytes that the evaluation set may take in memory.
  std::uint64_t memory_limit = std::uint64_t{4} << 30;
};

struct EvaluatorState {
  static constexpr const char* name = "troupe.evaluator";
  std::vector<Batch> batches;
  std::uint64_t bytes = 0;
  bool complete = false;  ///< the whole set is in memory
  bool reading = false;
  caf::error failure;
  FragmentId fragment = 0;
  FragmentId ids_fragment = 0;
  bool loaded = false;
  std::vector<ReadPlan> reads;  ///< of each batch, when there are tables
  std::vector<WantedRows> wanted;
  bool planned = false;
  std::vector<Shard> shards;

  std::deque<caf::typed_response_promise<EvaluationResult>> waiting;
  bool busy = false;
  TensorList parameters;
  std::map<std::size_t, PulledRows> pulled;  ///< by shard
  TensorList rows;                           ///< of `wanted`
  std::size_t missing = 0;
  std::size_t position = 0;
  std::optional<CombinedValues> values;
  EvaluationResult result;
  std::optional<ShardSnapshot> evaluated;
  StageStatus status;
};

/// Computes loss and metrics over a fixed set of examples with the newest
/// parameters. Reads the set once and keeps it in memory. Values of several
/// batches are combined by rows, as each metric says. Of tables it pulls the rows that the
/// whole set reads, together with everything else, so that all are of one version at each
/// shard. Requests are answered one after the other. Answers invalid_argument when the set is
/// empty, resource_exhausted above the memory limit, and the reader's failure if it fails.
ObservedEvaluator::behavior_type evaluator(ObservedEvaluator::stateful_pointer<EvaluatorState> self,
                                           EvaluatorOptions options);

}  // namespace troupe
