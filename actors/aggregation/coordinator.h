#pragma once

#include <caf/actor_clock.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/aggregation_options.h"
#include "troupe/actors/aggregation/rounds.h"
#include "troupe/actors/aggregation/run_recording.h"
#include "troupe/messages/data_state.h"

namespace troupe {

struct CoordinatorOptions {
  AggregationOptions aggregation;
  std::uint32_t shards = 1;
  /// Each replica has one shard of its own, which has all parameters: a set is whole once
  /// it is there, and all shards tell the same norm.
  bool all_reduce = false;
  std::uint32_t replicas = 1;   ///< that the run begins with
  std::uint64_t max_steps = 0;  ///< updates, those before included; 0 for no end
  bool deterministic = false;
  std::string table;                 ///< as RoundsOptions::table
  TrainingListener listener;         ///< of events; may be none
  std::uint64_t snapshot_every = 0;  ///< versions between states of the data; 0 for none
  std::string run;                   ///< for recordings: which run it is
  DataSink sink;                     ///< receives them
  /// Another replica takes the place of one that dies, and is waited for where every update
  /// has a set of each.
  bool replaces_lost = false;
  /// After it a run begins without those who have not joined.
  std::chrono::milliseconds start_patience{30000};
};

struct CoordinatorState {
  static constexpr const char* name = "troupe.coordinator";
  using TimePoint = caf::actor_clock::time_point;

  struct Joining {
    Replica handle;
    std::set<std::uint32_t> shards;  ///< where it has joined
  };
  struct Arriving {
    std::set<std::uint32_t> shards;  ///< that have their part
    SetReport worst;                 ///< the report that complains, if there is one
  };
  /// What shards were told, to be told again to one that takes another's place.
  struct Decided {
    RoundDecision decision;
    std::optional<double> factor;  ///< once all norms are known
  };
  struct Waited {
    std::uint64_t clock = 0;
    TimePoint deadline;
    bool named = false;
  };

  std::unique_ptr<Rounds> rounds;
  EventOrder order;
  Feeder batches;
  DataKeeper keeper;
  std::map<std::uint32_t, Shard> shards;
  std::map<std::uint32_t, Joining> joining;
  std::map<std::uint32_t, Replica> replicas;
  std::map<caf::actor_addr, std::uint32_t> watched;  ///< numbers of all of whom it hears
  std::set<caf::actor_addr> gone;                    ///< those of them that have died
  bool replaces_lost = false;
  std::set<caf::actor_addr> leaving;  ///< whose shards have begun to tell so
  std::map<std::pair<std::uint32_t, std::uint64_t>, Arriving> arriving;  ///< by replica and step
  std::map<std::uint32_t, std::uint64_t> whole;  ///< the last step of which all shards had the set
  std::uint64_t decisions = 0;
  std::deque<Decided> decided;                         ///< the last ones
  std::map<std::uint32_t, std::uint64_t> carried_out;  ///< decisions, by shard
  std::map<std::uint32_t, double> norms;               ///< of the update in hand, by shard
  bool awaits_norms = false;
  std::map<std::uint32_t, Waited> waited_for;
  std::optional<TimePoint> start_deadline;
  std::vector<caf::typed_response_promise<caf::ok_atom>> policy_promises;
};

/// Decides for all shards what each update is made of, and tells every shard the same in
/// the same order. A set counts once every shard has its part of it, and a replica has
/// joined once it has joined everywhere: so all variables of an update come from the same
/// sets, also when replicas die, and all shards go through the same versions. Replicas
/// that compute what would be refused are told to give it up.
///
/// Decisions that not all shards have carried out are kept: a copy that takes the place of
/// a shard is told those that it does not know. What shards and replicas say twice counts
/// once.
///
/// Whoever hands out batches is told, once for each decision, which sets are settled, and who
/// has left and what it left undecided: nobody else knows which records have been trained on.
///
/// At each version that is to be kept it has the data kept as they stand then.
///
/// Throws at the start what Rounds throws.
SavingCoordinator::behavior_type coordinator(
    SavingCoordinator::stateful_pointer<CoordinatorState> self, CoordinatorOptions options);

}  // namespace troupe
