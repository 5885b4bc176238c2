#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "troupe/messages/protocol.h"
#include "troupe/queues/barrier_core.h"
#include "troupe/queues/queue_core.h"
#include "troupe/queues/random_shuffle_queue.h"

namespace troupe {

/// Where something shared is found.
struct SharedName {
  std::string name{};       ///< not empty, and not beginning with "_"
  std::string container{};  ///< "": the one of those who name none
};

/// The queues of an actor system that several topologies find by name. Whoever asks first
/// makes the queue; everybody else gets the same one and must ask for the same: capacity,
/// floor, seed, dtypes and shapes of the components, everything but the components' names.
///
/// What is spawned without this is private. What is shared lives, with its elements, until
/// it is removed or its container is reset, however its users end; a queue that was closed
/// stays closed until then. May be used by any thread; must end before the actor system.
///
///   SharedQueues shared(system);
///   Queue examples = shared.fifo_queue({"examples"}, options);   // in either topology
///
/// All throw invalid_argument when there is another kind under the name, or one with other
/// attributes, and for a name that is not allowed. The options' own name is not used.
class SharedQueues {
 public:
  explicit SharedQueues(caf::actor_system& system) : system_(system) {}
  ~SharedQueues();
  SharedQueues(const SharedQueues&) = delete;
  SharedQueues& operator=(const SharedQueues&) = delete;

  Queue fifo_queue(const SharedName& name, const QueueOptions& options);
  Queue random_shuffle_queue(const SharedName& name, const RandomShuffleQueueOptions& options);
  Queue padding_fifo_queue(const SharedName& name, const QueueOptions& options);
  Queue priority_queue(const SharedName& name, const QueueOptions& options);
  StagingArea staging_area(const SharedName& name, const QueueOptions& options);
  Barrier barrier(const SharedName& name, const BarrierOptions& options);

  struct Listed {
    SharedName name;
    std::string description;  ///< "FIFOQueue, capacity 10, ..."
    caf::actor actor;
  };
  /// What there is, by container and name.
  std::vector<Listed> list() const;

  /// Ends one; whoever waits on it gets cancelled. Throws not_found, with the names that
  /// there are.
  void remove(const SharedName& name);
  /// Ends everything in one container and nothing else. Returns how many there were.
  std::size_t reset(const std::string& container);

 private:
  /// What must agree, in words: {"capacity", "10"}.
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  struct Entry {
    Attributes attributes;
    caf::actor actor;
  };

  template <class Handle, class Options, class Behavior>
  Handle find_or_spawn(const SharedName& name, Attributes attributes, Options options,
                       Behavior behavior);

  caf::actor_system& system_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Entry> entries_;  // by container and name
};

}  // namespace troupe
