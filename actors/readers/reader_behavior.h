#pragma once

#include <caf/actor_cast.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <type_traits>

#include "troupe/actors/readers/reader.h"
#include "troupe/messages/answer.h"
#include "troupe/messages/tick.h"

namespace troupe {

/// What all readers with a ReaderState answer, and how they read: one block for each
/// tick, so that requests are answered in between.
///
///   read(state)                 reads the next block, if there is one; not after the end
///   advance(self)               does what can be done now, and sends a tick to read on
///   snapshot(state)
///   restore(state, snapshot)
/// `more` are handlers of what such a reader answers beside.
template <class Self, class Read, class Advance, class Snapshot, class Restore, class... More>
auto reader_behavior(Self self, Read read, Advance advance, Snapshot snapshot, Restore restore,
                     More... more) -> typename std::remove_pointer_t<Self>::behavior_type {
  on_tick(self, [=] {
    self->state.reading = false;
    if (!self->state.end) read(self->state);
    advance(self);
  });
  advance(self);
  return {
      [=](next_atom) -> caf::result<RecordBlock> {
        const auto client = caf::actor_cast<caf::actor_addr>(self->current_sender());
        self->state.log.asked(client);
        auto promise = self->template make_response_promise<RecordBlock>();
        self->state.waiting.push_back({promise, client});
        advance(self);
        return promise;
      },
      [=](stop_atom) {
        stop_reader(self->state);
        return caf::ok_atom_v;
      },
      [=](status_atom) { return self->state.clock.read(); },
      [=](snapshot_atom) { return answer([&] { return snapshot(self->state); }); },
      [=](restore_atom, const ReaderSnapshot& to) {
        return answer([&] {
          restore(self->state, to);
          advance(self);
          return caf::ok_atom_v;
        });
      },
      more...,
  };
}

}  // namespace troupe
