#pragma once

#include <caf/typed_response_promise.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/parameters/held_effects.h"
#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/actors/parameters/reduced_gradients.h"
#include "troupe/messages/all_reduce.h"

namespace troupe {

/// Nothing is known yet: pull everything.
inline constexpr Version kNoVersion = ~Version{0};

struct ShardOptions {
  std::uint32_t index = 0;  ///< "shard 0"
  std::vector<ShardVariable> variables;
  OptimizerConfig optimizer;
  Schedule schedule;
  Coordinator coordinator;           ///< decides what is applied when
  std::string policy = "sync";       ///< how gradients are put together; as the coordinator's
  std::string group = {};            ///< which variables these are, when they have a policy of
                                     ///< their own; for snapshots
  bool look_for_nan = true;          ///< tell the coordinator of values that are not finite
  double average_decay = 0;          ///< of the moving average of weights; 0 for none
  std::uint64_t snapshot_every = 0;  ///< versions between snapshots for the sink; 0 for none
  std::shared_ptr<IntraOp> threads;  ///< for large updates; empty for the actor's own thread only
  bool mirror = false;  ///< begins as a copy of another one, and waits for what that has
  /// With one, this is the shard of replica `index` alone, and has all variables: gradients
  /// are added up with those of the other replicas' shards, and applied when all shards have the
  /// sum. A sum that a member of the group is missing for is given up when the coordinator says so.
  Reducer reducer = {};
  std::vector<ReducedPart> parts = {};  ///< what a replica pushes; the same at all shards

  IntraOp& intra_op() const { return threads ? *threads : serial(); }
};

struct ShardState {
  static constexpr const char* name = "troupe.shard";

  struct Set {
    std::optional<GradientCommit> commit;  ///< once it is whole
    std::vector<GradientPart> parts;
    // What the parts looked at so far are like; with a copy, none are.
    Code code = Code::ok;    ///< of one that does not fit
    std::string fault;       ///< of it
    std::string not_finite;  ///< the first variable with such values
  };
  struct Member {
    caf::actor_addr address;
    std::uint64_t last_step = 0;        ///< that was decided on
    std::map<std::uint64_t, Set> sets;  ///< by step
    /// Of the replica that waits to go on.
    caf::typed_response_promise<ApplyResult> promise;
    bool waits = false;    ///< has committed, and has not been let go on since
    bool joins = false;    ///< waits too, and does not know the names yet
    ApplyResult result;    ///< what it will be told
    ApplyResult answered;  ///< what it was told last, but for the parameters
    bool left = false;     ///< only its whole sets still count
  };

  std::string title;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<AggregationPolicy> policy;
  std::string policy_text;
  std::map<std::uint32_t, Member> members;  ///< by replica
  std::optional<RoundDecision> decision;    ///< that waits for what all shards say
  CombinedGradients combined;               ///< of it
  caf::error failure;                       ///< of it
  Instructions instructions;
  double norm = 0;              ///< of it
  std::uint64_t decisions = 0;  ///< carried out
  bool primary = true;          ///< says what it has to say; a copy only does
  bool took_over = false;       ///< was a copy before
  bool whole = true;            ///< a copy that has been told what to be a copy of
  HeldEffects effects;
  std::vector<ShardMirror> next_mirrors;  ///< when the decision in hand is carried out
  std::uint64_t pulls = 0;
  std::uint64_t pushes = 0;
  std::uint64_t pulled_rows = 0;
  std::uint64_t pushed_rows = 0;
  std::uint64_t updates = 0;
  StalenessCounts staleness;
  double learning_rate = 0;
  std::chrono::nanoseconds busy{0};

  /// Tells somebody something once all copies have what it follows from; a copy says nothing.
  void say(HeldEffects::Effect what) {
    if (primary) effects.add(std::move(what));
  }
};

using ShardSelf = Shard::stateful_pointer<ShardState>;

/// Owns some variables of a model: answers pulls with shared snapshots, collects what
/// replicas push, and updates when the coordinator says so.
///
/// It reports every whole set to the coordinator and does what that decides, in the order
/// in which it decides. A replica that has committed or joined is answered, with the
/// parameters as they are then, when the coordinator lets it go on. A commit that is
/// repeated is answered, not applied again. A set that does not fit is the failure of its
/// replica.
///
/// Copies of a shard do what it does in the same order, and so have the same bits. It says
/// nothing to replicas and coordinator before all its copies have what that follows from;
/// therefore a copy that takes its place has all that anybody was told. It then says once
/// more what the one before it may not have said, and asks the coordinator for decisions
/// that it has missed. Whoever waits for an answer of the one that died asks again: sets,
/// commits and joins that come twice count once.
Shard::behavior_type parameter_shard(ShardSelf self, ShardOptions options, SnapshotSink sink);

}  // namespace troupe
