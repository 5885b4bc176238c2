#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "troupe/actors/topology/topology.h"
#include "troupe/messages/payloads.h"

namespace troupe {

/// What a run was told that decides how fast it can be.
struct RunSettings {
  int cpus = 1;  ///< that the process may run on
  int inter_op = 1;
  int intra_op = 1;
  std::int64_t batch = 0;  ///< rows, all synchronous replicas together
  bool synchronous = true;
  bool all_reduce = false;  ///< each replica has all variables: neither async nor more shards
  std::uint64_t evaluate_every = 0;    ///< steps; 0 for at the end only
  std::uint64_t checkpoint_every = 0;  ///< steps; 0 for at the end only
};

/// A thread of this process.
struct ThreadUse {
  int id = 0;
  std::string name;
  std::chrono::nanoseconds cpu{0};    ///< on a CPU, ever
  std::chrono::nanoseconds ready{0};  ///< could have run, but had no CPU; 0 if not known
};

/// A CPU of the machine, whoever uses it.
struct CoreUse {
  int id = 0;
  std::chrono::nanoseconds busy{0};
  std::chrono::nanoseconds idle{0};
};

/// The last answer of one actor of a topology to (status).
struct NodeSample {
  std::chrono::nanoseconds at{0};      ///< of the answer, since the run began; in a sample from
                                       ///< before it was there, when it came
  std::chrono::nanoseconds silent{0};  ///< how long it has owed the next one; 0 for not
  std::variant<std::monostate, StageStatus, QueueStatus, ShardStatus, DeviceStatus> status;
};

/// How a topology stands at one moment. Its counters only grow: two samples say
/// what happened between them.
struct Sample {
  std::chrono::nanoseconds at{0};   ///< since the run began
  std::chrono::nanoseconds cpu{0};  ///< of this process, all threads that are or were
  std::vector<ThreadUse> threads;
  std::vector<CoreUse> cores;
  std::vector<NodeSample> nodes;  ///< as in Topology::nodes
};

}  // namespace troupe
