#pragma once

#include <caf/response_promise.hpp>
#include <caf/typed_response_promise.hpp>
#include <memory>
#include <optional>
#include <unordered_map>

#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/messages/protocol.h"

namespace troupe {

/// Nothing is known yet: pull everything.
inline constexpr Version kNoVersion = ~Version{0};

struct ShardOptions {
  std::uint32_t index = 0;  ///< "shard 0"
  std::vector<ShardVariable> variables;
  OptimizerConfig optimizer;
  Schedule schedule;
  bool synchronous = true;     ///< wait for all replicas that take part, then update once
  bool deterministic = false;  ///< add gradients in GradientCommit::order, not in order of arrival
  double average_decay = 0;    ///< of the moving average of weights; 0 for none
  std::uint64_t snapshot_every = 0;  ///< versions between snapshots for `checkpointer`; 0 for none
  std::shared_ptr<IntraOp> threads;  ///< for large updates; empty for the actor's own thread only
};

struct ShardState {
  static constexpr const char* name = "troupe.shard";

  struct Member {
    caf::actor_addr address;
    std::uint64_t last_step = 0;  ///< applied
    bool has_step = false;
    std::vector<GradientPart> pending;
    std::optional<GradientCommit> commit;
    caf::typed_response_promise<ApplyResult> promise;
    std::uint64_t arrival = 0;
  };

  std::string title;
  std::unique_ptr<ParameterStore> store;
  std::map<std::uint32_t, Member> members;  ///< by replica
  std::uint64_t arrivals = 0;
  std::uint64_t pulls = 0;
  std::uint64_t updates = 0;
  double learning_rate = 0;
  std::chrono::nanoseconds busy{0};
};

/// Owns some variables of a model: answers pulls with shared snapshots, collects
/// what replicas push and updates when a round is complete.
///
/// Synchronous: a round is complete when every replica that takes part has
/// committed; one that leaves or dies no longer counts. Each replica is answered
/// with the parameters after the update. Asynchronous: every commit is a round.
/// A commit that is repeated is answered, not applied again. A push that does not
/// fit, or a value that is not finite in an update, is the failure of its replica.
Shard::behavior_type parameter_shard(Shard::stateful_pointer<ShardState> self, ShardOptions options,
                                     SnapshotSink sink);

}  // namespace troupe
