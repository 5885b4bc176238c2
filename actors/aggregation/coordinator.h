#pragma once

#include <caf/actor_clock.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/aggregation_options.h"
#include "troupe/actors/aggregation/arriving_sets.h"
#include "troupe/actors/aggregation/checkpoint_backlog.h"
#include "troupe/actors/aggregation/decision_log.h"
#include "troupe/actors/aggregation/replica_memories.h"
#include "troupe/actors/aggregation/rounds.h"
#include "troupe/actors/aggregation/run_recording.h"
#include "troupe/actors/aggregation/settling_sets.h"
#include "troupe/messages/data_state.h"
#include "troupe/messages/replica_memory.h"

namespace troupe {

struct CoordinatorOptions {
  AggregationOptions aggregation;
  std::uint32_t shards = 1;
  /// Of each shard, as groups_of() numbers them, when there are several: all variables of a
  /// shard are of one group. Empty when the shards are one group.
  std::vector<std::uint32_t> group_of_shard = {};
  /// Each replica has one shard of its own, which has all parameters: a set is whole once
  /// it is there, and all shards tell the same norm, whether something is clipped or not.
  bool all_reduce = false;
  std::uint32_t replicas = 1;   ///< that the run begins with
  std::uint64_t max_steps = 0;  ///< updates, those before included; 0 for no end
  bool deterministic = false;
  std::string table;                 ///< as RoundsOptions::table
  TrainingListener listener;         ///< of events; may be none
  std::uint64_t snapshot_every = 0;  ///< versions between states of the data; 0 for none
  std::string run;                   ///< for recordings: which run it is
  DataSink sink;                     ///< receives them
  CheckpointBook
      book;  ///< learns what belongs to such a version, says when it is on disk; may be none
  /// Another replica takes the place of one that dies, and is waited for where every update
  /// has a set of each.
  bool replaces_lost = false;
  /// After it a run begins without those who have not joined.
  std::chrono::milliseconds start_patience{30000};

  std::uint32_t group_of(std::uint32_t shard) const {
    return shard < group_of_shard.size() ? group_of_shard[shard] : 0;
  }
  /// So many have a part of each set of a replica.
  std::size_t shards_of_a_replica() const { return all_reduce ? 1 : shards; }
};

struct CoordinatorState {
  static constexpr const char* name = "troupe.coordinator";
  using TimePoint = caf::actor_clock::time_point;

  struct Joining {
    Replica handle;
    std::set<std::uint32_t> shards;  ///< where it has joined
  };
  /// Variables that have one policy, and what is decided for them.
  struct Group {
    std::string variables;  ///< which; empty for those that have the run's policy
    std::unique_ptr<Rounds> rounds;
    DecisionLog decisions;
    /// Of those who want another policy.
    std::vector<caf::typed_response_promise<caf::ok_atom>> changes;
  };
  /// What follows from a decision apart from what shards are told.
  struct Effect {
    Version before = 0;  ///< it
    std::vector<SettledSet> settled;
    std::string policy;   ///< that rules from then on; empty for the old one
    bool is_due = false;  ///< the version is to be kept
  };
  /// A decision that is taken back when a shard is lost before all of them have the sum.
  struct Tentative {
    Rounds before;  ///< it was made
    Effect effect;
    RoundDecision decision;
  };
  struct Waited {
    std::uint64_t clock = 0;
    TimePoint deadline;
    bool named = false;
  };

  /// The first one leads: its version is the run's.
  std::vector<Group> groups;
  Rounds& leading() { return *groups.front().rounds; }
  EventOrder order;
  Feeder batches;
  DataKeeper keeper;
  std::map<std::uint32_t, Shard> shards;
  std::size_t shard_count = 0;  ///< that there are, or will be once all have attached
  std::map<std::uint32_t, Joining> joining;
  std::map<std::uint32_t, Replica> replicas;
  std::map<caf::actor_addr, std::uint32_t> watched;  ///< numbers of all of whom it hears
  std::set<caf::actor_addr> gone;                    ///< those of them that have died
  bool replaces_lost = false;
  bool stops_whole = false;                       ///< no update is made without one that leaves
  std::map<std::uint32_t, caf::actor_addr> lost;  ///< whose places are to be taken, by number
  std::set<caf::actor_addr> leaving;              ///< whose shards have begun to tell so
  ArrivingSets arriving;
  SettlingSets settling;
  std::map<std::uint32_t, Replica> late_joins;  ///< that wait for what becomes of the one before
  bool keep_due = false;                        ///< what there is then
  std::map<std::uint32_t, double> norms;        ///< of the update in hand, by shard
  bool awaits_norms = false;
  std::optional<Tentative> tentative;   ///< of an all-reduce, while it awaits norms
  std::set<std::uint32_t> lost_shards;  ///< for which nobody has attached yet
  bool halted = false;                  ///< since one was lost
  bool may_go_on = false;               ///< when somebody has attached for each
  std::deque<std::function<void()>>
      later;  ///< what has come meanwhile, or while the backlog is full
  bool catches_up = false;
  std::map<std::uint32_t, Waited> waited_for;
  std::optional<TimePoint> start_deadline;
  ReplicaMemories memories;
  CheckpointBacklog backlog;
  bool told_of_disk = false;  ///< that it holds the run back
};

using CoordinatorSelf = RememberingCoordinator::stateful_pointer<CoordinatorState>;

/// Decides for all shards what each update is made of, and tells every shard the same in
/// the same order. A set counts once every shard has its part of it, and a replica has
/// joined once it has joined everywhere: so all variables of an update come from the same
/// sets, also when replicas die, and all shards go through the same versions. Replicas
/// that compute what would be refused are told to give it up.
///
/// Groups of variables may have policies of their own. A set is taken into account by all groups
/// at the same moment, once all shards have it; then each decides for its own shards. A replica
/// goes on when all groups let it go on, and a batch is settled when all have decided on its set.
/// What is to be kept is kept when that is so of every set. So all that is said of a set, a
/// replica or a version holds for all groups.
///
/// Decisions that not all shards have carried out are kept: a copy that takes the place of
/// a shard is told those that it does not know. What shards and replicas say twice counts
/// once.
///
/// Whoever hands out batches is told, once for each decision, which sets are settled, and who
/// has left and what it left undecided: nobody else knows which records have been trained on.
///
/// At each version that is to be kept it has the data kept as they stand then. While two of those
/// versions are not on disk yet, what replicas say is kept until one is: they wait, and nothing is
/// decided. The order of what happens stays the same, and so does what is decided.
///
/// An update of an all-reduce counts when all shards have the sum. When a shard is lost before
/// that, it has never been: the sets that it was made of are given up, and their replicas compute
/// them again from the same parameters. Whatever comes while an update may still be taken back, or
/// while the place of a shard is empty, waits; and of a replica only the shard that is in its place
/// now is listened to. Its shards may become more, or fewer.
///
/// A deterministic run that stops makes no update without a replica that leaves before the others,
/// or that is lost: their sets are given up, and so are the same in the run that goes on.
///
/// Throws at the start what Rounds throws.
RememberingCoordinator::behavior_type coordinator(CoordinatorSelf self, CoordinatorOptions options);

}  // namespace troupe
