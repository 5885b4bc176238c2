#include "troupe/queues/queue_actor.h"

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/system_messages.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/messages/tick.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {
namespace {

using Self = Queue::stateful_pointer<QueueState>;

/// Asks to be told when `actor` ends.
void watch(Self self, const caf::strong_actor_ptr& actor) {
  if (actor && self->state.watched.insert(caf::actor_cast<caf::actor_addr>(actor)).second)
    self->monitor(caf::actor_cast<caf::actor>(actor));
}

/// Makes sure that a tick wakes us when the next deadline is due.
void set_timer(Self self) {
  auto& q = self->state;
  const auto next = q.core->next_deadline();
  if (!next || (q.timer && *q.timer <= *next)) return;
  q.timer = next;
  tick_at(self, *next);
}

/// A promise, and the completion that keeps it.
auto done_with(caf::typed_response_promise<caf::ok_atom> promise) {
  return [promise](const caf::error& error) mutable {
    if (error)
      promise.deliver(error);
    else
      promise.deliver(caf::ok_atom_v);
  };
}

/// The batch that elements make.
Batch stack(const ElementBlock& taken, const std::optional<ElementPadding>& padding) {
  return {taken.sequence,
          padding ? stack_padded(taken.elements, *padding) : stack_elements(taken.elements)};
}

Stacker::behavior_type stacker(const std::optional<ElementPadding>& padding) {
  return {[padding](ElementBlock& taken) { return answer([&] { return stack(taken, padding); }); }};
}

/// Answers a dequeue with what was taken for it. Once there is a stacker all batches
/// go through it, so that a small one does not overtake a large one.
void deliver(Self self, caf::typed_response_promise<Batch>& promise, ElementBlock taken) {
  constexpr std::uint64_t kLargeBytes = 256 << 10;
  auto& q = self->state;
  if (taken.elements.empty()) {
    promise.deliver(Batch{taken.sequence, q.core->no_rows()});
  } else if (!q.stacker && taken.elements.size() * byte_size(taken.elements[0]) < kLargeBytes) {
    try {
      promise.deliver(stack(taken, q.core->padding()));
    } catch (...) {
      promise.deliver(current_fault());
    }
  } else {
    if (!q.stacker) q.stacker = self->spawn(stacker, q.core->padding());
    promise.delegate(q.stacker, std::move(taken));
  }
}

}  // namespace

QueueState::~QueueState() {
  if (core) core->end();
}

Queue::behavior_type queue_behavior(Self self, std::string kind, QueueOptions options,
                                    std::unique_ptr<ElementStore> store) {
  self->state.core =
      std::make_unique<QueueCore>(std::move(kind), std::move(options), std::move(store),
                                  [self] { return self->clock().now(); });
  self->set_down_handler([self](const caf::down_msg& down) {
    self->state.watched.erase(down.source);
    self->state.core->lost(down.source, down.reason);
    set_timer(self);
  });
  on_tick(self, [self] {
    self->state.timer.reset();
    self->state.core->expire();
    set_timer(self);
  });
  return {
      [self](enqueue_atom, ElementBlock& block,
             const EnqueueOptions& options) -> caf::result<caf::ok_atom> {
        auto promise = self->make_response_promise<caf::ok_atom>();
        self->state.core->enqueue(std::move(block), options, done_with(promise));
        set_timer(self);
        return promise;
      },
      [self](dequeue_atom, const DequeueRequest& request) -> caf::result<Batch> {
        const auto client = self->current_sender();  // a promise takes the sender away
        auto promise = self->make_response_promise<Batch>();
        if (!client) return promise;  // nobody to give the elements to
        self->state.core->dequeue(request, caf::actor_cast<caf::actor_addr>(client),
                                  [self, promise](caf::expected<ElementBlock> taken) mutable {
                                    if (taken)
                                      deliver(self, promise, std::move(*taken));
                                    else
                                      promise.deliver(std::move(taken.error()));
                                  });
        if (promise.pending()) watch(self, client);
        set_timer(self);
        return promise;
      },
      [self](attach_atom) -> caf::result<caf::ok_atom> {
        const auto producer = self->current_sender();
        auto promise = self->make_response_promise<caf::ok_atom>();
        self->state.core->attach(caf::actor_cast<caf::actor_addr>(producer), done_with(promise));
        watch(self, producer);
        return promise;
      },
      [self](detach_atom, const CloseReason& reason) -> caf::result<caf::ok_atom> {
        const auto producer = caf::actor_cast<caf::actor_addr>(self->current_sender());
        auto promise = self->make_response_promise<caf::ok_atom>();
        self->state.core->detach(producer, reason, done_with(promise));
        set_timer(self);
        return promise;
      },
      [self](caf::close_atom, const CloseRequest& request) -> caf::result<caf::ok_atom> {
        auto promise = self->make_response_promise<caf::ok_atom>();
        self->state.core->close(request, done_with(promise));
        return promise;
      },
      [self](status_atom) { return self->state.core->status(); },
  };
}

}  // namespace troupe
