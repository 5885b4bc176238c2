#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/allreduce/reducer.h"
#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/messages/protocol.h"

namespace troupe {

/// Keeps the shards of an all-reduce.
///   (join, number) -> shard     for a replica of that number, which is new: it has what the others
///                               have, and takes part
///   (leave, number)             its replica has left, and nobody comes in its place
using GroupKeeper = ShardKeeper::extend<caf::replies_to<join_atom, std::uint32_t>::with<Shard>,
                                        caf::reacts_to<leave_atom, std::uint32_t>>;

struct GroupKeeperOptions {
  struct Kept {
    Shard shard;
    /// Of the shard, which is that of the replica of the same number. Variables need no values.
    ShardOptions options;
  };
  std::vector<Kept> members;  ///< that it begins with, by number; each with its reducer
  AllReduce kind = AllReduce::ring;
  Coordinator coordinator;
  SnapshotSink sink;          ///< as the first shard has it; may be none
  TrainingListener listener;  ///< hears who died; may be none
  /// That one is a member of that name from now on, instead of the one before it; may be none.
  std::function<void(const std::string& name, const caf::actor&)> enter;
  std::function<void(const caf::actor&)> forget;  ///< that one has left; may be none
};

struct GroupKeeperState {
  static constexpr const char* name = "troupe.group_keeper";

  struct Member {
    ShardOptions options;
    Shard first;  ///< shard, as its replica knows it if nobody has told it of another one
    Shard shard;
    Reducer reducer;
    std::vector<Replica> replicas;  ///< of its number: the one that is here, or is about to end
    /// Of those who want to know which shard comes after the one that is lost.
    std::vector<caf::typed_response_promise<Shard>> asked;
    bool made = false;    ///< here
    bool lost = false;    ///< there is to be another one
    bool leaves = false;  ///< there is not
  };
  /// Who is to be put in the places of those that are lost, or new.
  struct Revival {
    struct Newcomer {
      Shard shard;
      Reducer reducer;
    };
    std::map<std::uint32_t, Newcomer> newcomers;
    Version version = 0;          ///< that they have
    std::uint64_t decisions = 0;  ///< the last that they know
    std::size_t missing = 0;      ///< answers
  };

  std::map<std::uint32_t, Member> members;  ///< by number
  std::size_t halts = 0;      ///< of which the coordinator has not said that they are done
  std::uint64_t attempt = 0;  ///< at a revival; another loss ends it
  Revival revival;

  ~GroupKeeperState();  ///< ends those that it has made
};

/// Keeps the members of an all-reduce: shards that have the same, each with a reducer, and each
/// that of one replica. When a shard or a reducer ends, what is left of that member is ended too,
/// its replica included. The others stop where all of them have carried out the same decisions;
/// then a new shard gets what one of the others has, a new reducer joins the group, and all go on.
/// Somebody else starts the replica again. Ends with data_loss when all shards have ended.
///
/// When a replica comes or goes the others stop in the same way, and go on in a group with one
/// member more, or less. The first shard, which saves checkpoints and is read by others, stays
/// without its replica, and brings nothing to a sum.
GroupKeeper::behavior_type group_keeper(GroupKeeper::stateful_pointer<GroupKeeperState> self,
                                        GroupKeeperOptions options);

}  // namespace troupe
