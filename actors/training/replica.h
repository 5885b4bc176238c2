#pragma once

#include <caf/typed_response_promise.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "troupe/actors/training/fragments.h"
#include "troupe/messages/protocol.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

struct ReplicaOptions {
  std::uint32_t index = 0;
  ModelFragment fragment;
  BatchSource batches;
  Device device;
  std::vector<Shard> shards;
  TrainingListener listener;
  std::uint64_t seed = 0;       ///< of dropout and the like: mixed with the number of the batch
  std::uint64_t max_steps = 0;  ///< stop when the parameters have had so many updates; 0 for never
  std::size_t prefetch = 1;     ///< batches that are here before they are needed
};

struct ReplicaState {
  static constexpr const char* name = "troupe.replica";
  using Clock = std::chrono::steady_clock;

  std::string title;
  FragmentId fragment = 0;
  bool loaded = false;
  caf::typed_response_promise<std::uint64_t> started;  ///< answered when the replica is done
  bool running = false;
  bool stopping = false;
  bool at_end = false;  ///< no batch will come any more

  // Parameters as fed: position of the values of each shard among the fragment's variables.
  std::vector<std::vector<std::int64_t>> feed_of;
  std::vector<std::size_t> shard_of_part;
  TensorList parameters;
  std::vector<Version> versions;
  std::size_t missing_parameters = 0;

  std::deque<Batch> next;  ///< fetched ahead
  bool asked = false;
  Clock::time_point idle_since;

  // The step in progress.
  bool computing = false;
  std::uint64_t steps = 0;  ///< own count, from 1; part of every push
  std::uint64_t order = 0;
  std::int64_t rows = 0;
  std::size_t outputs = 0;  ///< streamed outputs that have arrived
  std::optional<TensorList> fetches;
  TensorList sparse_rows;   ///< waiting for their indices, by part
  std::size_t commits = 0;  ///< answers that are missing
  StepReport report;
  Clock::time_point step_begun;
  Clock::time_point commit_begun;
  StageClock clock;
};

/// Trains: pulls parameters once, then for each batch computes the gradients on
/// its device, pushes every gradient to its variable's shard as soon as
/// back-propagation has produced it, commits, and goes on with the parameters
/// that the commits answer. The next batches are fetched while this one is computed.
/// A batch of no rows takes part in the round without a gradient.
Replica::behavior_type replica(Replica::stateful_pointer<ReplicaState> self,
                               ReplicaOptions options);

}  // namespace troupe
