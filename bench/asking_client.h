#pragma once

#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>

#include "troupe/messages/protocol.h"

namespace troupe {

/// Asks a device for one run after the other, as a replica does, and says when they are done:
///   (number of runs) -> 0
struct AskingClientState {
  caf::typed_response_promise<std::int64_t> promise;
  std::int64_t left = 0;
};
using AskingClient = caf::stateful_actor<AskingClientState>;

inline void ask_again(AskingClient* self, const Device& device, FragmentId id,
                      const TensorList& feeds) {
  self->request(device, caf::infinite, run_atom_v, id, std::uint64_t{0}, feeds)
      .then([=](const RunResult&) {
        if (--self->state.left > 0)
          ask_again(self, device, id, feeds);
        else
          self->state.promise.deliver(std::int64_t{0});
      });
}

inline caf::behavior asking_client(AskingClient* self, const Device& device, FragmentId id,
                                   const TensorList& feeds) {
  return {[=](std::int64_t runs) {
    self->state.left = runs;
    self->state.promise = self->make_response_promise<std::int64_t>();
    ask_again(self, device, id, feeds);
    return self->state.promise;
  }};
}

}  // namespace troupe
