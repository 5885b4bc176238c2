#pragma once

#include <caf/actor_clock.hpp>
#include <caf/atom.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/message_view.hpp>
#include <caf/scheduled_actor.hpp>
#include <functional>

namespace troupe {

// Ticks are messages of an actor to itself that are not part of its interface:
// they arrive at the default handler.

/// Calls `work` for each tick.
template <class Self>
void on_tick(Self self, std::function<void()> work) {
  self->set_default_handler(
      [work = std::move(work)](caf::scheduled_actor* actor,
                               caf::message_view& view) -> caf::result<caf::message> {
        if (!view.content().match_elements<caf::tick_atom>())
          return caf::print_and_drop(actor, view);
        work();
        return caf::message();
      });
}

/// Sends a tick that arrives behind the messages that are waiting now.
template <class Self>
void tick(Self self) {
  self->enqueue(self->ctrl(), caf::make_message_id(), caf::make_message(caf::tick_atom_v),
                self->context());
}

/// Sends a tick that arrives at a certain time.
template <class Self>
void tick_at(Self self, caf::actor_clock::time_point time) {
  self->clock().schedule_message(
      time, self->ctrl(),
      caf::make_mailbox_element(self->ctrl(), caf::make_message_id(), {}, caf::tick_atom_v));
}

}  // namespace troupe
