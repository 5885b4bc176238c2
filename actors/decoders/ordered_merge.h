#pragma once

#include <caf/actor_addr.hpp>
#include <caf/error.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <map>
#include <set>

#include "troupe/messages/protocol.h"

namespace troupe {

/// The state of an ordered merge.
struct OrderedMergeState {
  static constexpr const char* name = "troupe.merge";
  struct Held {
    ElementBlock block;
    EnqueueOptions options;
    caf::typed_response_promise<caf::ok_atom> promise;
  };

  OrderedMergeState() = default;  // not an aggregate: CAF would fill it with the actor
  /// Nobody waits for ever on a merge that is gone.
  ~OrderedMergeState();

  Queue queue;
  std::map<std::uint64_t, Held> held;  // blocks whose turn has not come, by sequence
  std::uint64_t next = 0;
  bool enqueuing = false;
  std::set<caf::actor_addr> producers;
  std::int64_t attached = 0;  // producers, ever
  std::int64_t expected = 1;
  caf::error end;  // why no more blocks are taken
};

/// Stands in front of a queue and lets blocks in by their sequence numbers, from 0
/// without a gap: with it, several decoders give the same order as one. It is
/// spoken to like the queue itself; a block is answered when the queue has it.
///
/// `decoders` is how many will attach; to the queue, the merge is one producer.
/// At most one block for each decoder waits here, so the memory is bounded.
Queue::behavior_type ordered_merge(Queue::stateful_pointer<OrderedMergeState> self, Queue queue,
                                   std::int64_t decoders);

}  // namespace troupe
