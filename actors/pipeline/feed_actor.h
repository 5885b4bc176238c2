#pragma once

#include <caf/error.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "troupe/actors/decoders/element_step.h"
#include "troupe/actors/pipeline/feed_state.h"
#include "troupe/messages/protocol.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

/// The state of the actor behind a feed.
struct FeedActorState {
  static constexpr const char* name = "troupe.feed";

  FeedActorState() = default;  // not an aggregate: CAF would fill it with the actor
  /// Neither who started it nor who pushes waits for ever.
  ~FeedActorState();

  std::shared_ptr<FeedState> feed;
  Queue queue;
  std::vector<ElementStep> steps;
  std::uint32_t reader = 0;
  caf::typed_response_promise<std::uint64_t> started;
  StageClock clock;
  std::uint64_t sequence = 0;  // of the next block
  std::uint64_t records = 0;   // in the queue
  std::uint64_t pushed = 0;    // through the steps, those that they left out too
  bool begun = false;          // started, or stopped before that
  bool running = false;
  bool enqueuing = false;
};

/// Takes what is pushed into a feed to a queue, and is spoken to like a decoder. `reader` is
/// the number that its blocks have, among those that feed the queue.
Decoder::behavior_type feed_actor(Decoder::stateful_pointer<FeedActorState> self,
                                  std::shared_ptr<FeedState> feed, Queue queue,
                                  std::vector<ElementStep> steps, std::uint32_t reader);

}  // namespace troupe
