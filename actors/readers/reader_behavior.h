#pragma once

#include <caf/typed_event_based_actor.hpp>

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
template <class Self, class Read, class Advance, class Snapshot, class Restore>
Reader::behavior_type reader_behavior(Self self, Read read, Advance advance, Snapshot snapshot,
                                      Restore restore) {
  on_tick(self, [=] {
    self->state.reading = false;
    if (!self->state.end) read(self->state);
    advance(self);
  });
  advance(self);
  return {
      [=](next_atom) -> caf::result<RecordBlock> {
        auto promise = self->template make_response_promise<RecordBlock>();
        self->state.waiting.push_back(promise);
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
  };
}

}  // namespace troupe
