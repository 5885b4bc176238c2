#pragma once

#include <caf/actor_addr.hpp>
#include <caf/error.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "troupe/messages/protocol.h"

namespace troupe {

/// A queue that lets blocks in by their numbers.
///   (join, producer, lane)   the producer's blocks are of that lane; before it attaches, and
///                            behind its (expect): the lane does not end before it has come.
///                            Who is not mentioned is of lane 0
using OrderedMerge = Queue::extend<caf::reacts_to<join_atom, caf::actor, std::uint32_t>>;

/// The state of an ordered merge.
struct OrderedMergeState {
  static constexpr const char* name = "troupe.merge";
  struct Held {
    ElementBlock block;
    EnqueueOptions options;
    caf::typed_response_promise<caf::ok_atom> promise;
  };
  /// The decoders of one reader.
  struct Lane {
    std::map<std::uint64_t, Held> held;  // blocks whose turn has not come, by sequence
    std::uint64_t next = 0;
    std::set<caf::actor_addr> producers;
    std::set<caf::actor_addr> awaited;  // that have not attached
    std::int64_t attached = 0;          // producers, ever
    std::int64_t expected = 1;
    bool ended() const { return producers.empty() && awaited.empty() && attached >= expected; }
  };

  OrderedMergeState() = default;  // not an aggregate: CAF would fill it with the actor
  /// Nobody waits for ever on a merge that is gone.
  ~OrderedMergeState();

  Queue queue;
  std::vector<Lane> lanes;
  std::size_t turn = 0;  // whose block is the next
  std::map<caf::actor_addr, std::size_t> lane_of;
  std::map<caf::actor_addr, std::string> expected;  // that have not attached; their names
  bool joined = false;                              // the queue knows us as a producer
  caf::error end;                                   // why no more blocks are taken
};

/// Stands in front of a queue and lets blocks in by their sequence numbers, from 0
/// without a gap: with it, several decoders give the same order as one. It is
/// spoken to like the queue itself; a block is answered when the queue has it.
///
/// The decoders of one reader are a lane, and `decoders` says how many will attach
/// in each. Lanes take turns, a block each, until they end; `turn` has the first one. To the queue,
/// the merge is one producer. A block waits here or in the queue, one for each decoder, so the
/// memory is bounded. When the queue refuses a block its decoder leaves, and that ends
/// the merge.
OrderedMerge::behavior_type ordered_merge(OrderedMerge::stateful_pointer<OrderedMergeState> self,
                                          Queue queue, std::vector<std::int64_t> decoders,
                                          std::size_t turn);

}  // namespace troupe
