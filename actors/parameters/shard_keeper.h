#pragma once

#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/messages/protocol.h"

namespace troupe {

struct ShardKeeperOptions {
  struct Kept {
    Shard shard;
    ShardOptions options;  ///< of the shard, with its variables: copies are made with them
  };
  std::vector<Kept> shards;   ///< by number
  std::uint32_t backups = 1;  ///< copies of each
  SnapshotSink sink;          ///< as the shards have it; may be none
  TrainingListener listener;  ///< hears of deaths and of new copies; may be none
  /// That copy has taken the place of the shard of that name; may be none.
  std::function<void(const std::string& name, const caf::actor&)> enter;
};

struct ShardKeeperState {
  static constexpr const char* name = "troupe.shard_keeper";

  struct Kept {
    Shard shard;
    std::vector<Shard> copies;
    /// Of those who want to know which shard comes after the one that is lost.
    std::vector<caf::typed_response_promise<Shard>> asked;
  };
  std::vector<Kept> shards;
  std::vector<Replica> replicas;

  ~ShardKeeperState();  ///< ends the copies that it has made
};

/// Makes copies of shards. When a shard ends, one of its copies takes its place, the
/// replicas are told, and a new copy is made; when a copy ends, another one is made. Ends
/// with data_loss, naming the shard, when a shard and all its copies have ended.
ShardKeeper::behavior_type shard_keeper(ShardKeeper::stateful_pointer<ShardKeeperState> self,
                                        ShardKeeperOptions options);

}  // namespace troupe
