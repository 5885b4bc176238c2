#include "troupe/queues/queue_actor.h"

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/queues/fifo_store.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {
namespace {

using Ok = caf::typed_response_promise<caf::ok_atom>;

/// A promise, and the completion that keeps it.
auto done_with(Ok promise) {
  return [promise](const caf::error& error) mutable {
    if (error)
      promise.deliver(error);
    else
      promise.deliver(caf::ok_atom_v);
  };
}

caf::actor_addr sender(const QueueState& q) {
  return caf::actor_cast<caf::actor_addr>(q.self->current_sender());
}

/// The batch that elements make.
Batch stack(const ElementBlock& taken, const std::optional<ElementPadding>& padding) {
  return {taken.sequence,
          padding ? stack_padded(taken.elements, *padding) : stack_elements(taken.elements)};
}

Stacker::behavior_type stacker(const std::optional<ElementPadding>& padding) {
  return {[padding](ElementBlock& taken) { return answer([&] { return stack(taken, padding); }); }};
}

/// Bytes of the batch, roughly.
std::uint64_t batch_bytes(const std::vector<Element>& elements) {
  std::uint64_t largest = 0;
  for (const auto& element : elements) largest = std::max(largest, byte_size(element));
  return largest * elements.size();
}

/// Answers a dequeue with what was taken for it. Once there is a stacker all batches
/// go through it, so that a small one does not overtake a large one.
void deliver(QueueState& q, caf::typed_response_promise<Batch>& promise, ElementBlock taken) {
  constexpr std::uint64_t kLargeBytes = 256 << 10;
  const auto count = taken.elements.size();
  if (count == 0) {
    promise.deliver(Batch{taken.sequence, q.core->no_rows()});
  } else if (!q.stacker && (count == 1 || batch_bytes(taken.elements) < kLargeBytes)) {
    try {
      promise.deliver(stack(taken, q.core->padding()));
    } catch (...) {
      promise.deliver(current_fault());
    }
  } else {
    if (!q.stacker) q.stacker = q.self->spawn(stacker, q.core->padding());
    promise.delegate(q.stacker, std::move(taken));
  }
}

QueueCore::TakenDone deliver_to(QueueState& q, caf::typed_response_promise<Batch> promise) {
  return [&q, promise](caf::expected<ElementBlock> taken) mutable {
    if (taken)
      deliver(q, promise, std::move(*taken));
    else
      promise.deliver(std::move(taken.error()));
  };
}

}  // namespace

QueueState::~QueueState() {
  if (core) core->end();
}

void QueueState::begin(QueueOptions options, const std::function<QueueKind()>& kind) {
  const auto now = [actor = self] { return actor->clock().now(); };
  auto name = options.name;
  try {
    core = std::make_unique<QueueCore>(kind(), std::move(options), now);
  } catch (...) {
    // Nobody would hear what an actor throws that only begins.
    const auto error = to_error(current_fault());
    QueueOptions usable;
    usable.name = std::move(name);
    core = std::make_unique<QueueCore>(QueueKind{"Queue", std::make_unique<FifoStore>()},
                                       std::move(usable), now);
    core->close({true, {error.code(), error.what()}}, [](const caf::error&) {});
  }
  clients.begin(
      [this](const auto& actor, const auto& reason) {
        core->lost(actor, reason);
        clients.wake_at(core->next_deadline());
      },
      [this] {
        core->expire();
        clients.wake_at(core->next_deadline());
      });
}

caf::result<caf::ok_atom> QueueState::enqueue(ElementBlock& block, const EnqueueOptions& options) {
  const auto client = sender(*this);  // a promise takes the sender away
  auto promise = self->make_response_promise<caf::ok_atom>();
  core->enqueue(std::move(block), options, client, done_with(promise));
  clients.wake_at(core->next_deadline());
  return promise;
}

caf::result<Batch> QueueState::dequeue(const DequeueRequest& request) {
  const auto client = self->current_sender();
  auto promise = self->make_response_promise<Batch>();
  if (!client) return promise;  // nobody to give the elements to
  core->dequeue(request, caf::actor_cast<caf::actor_addr>(client), deliver_to(*this, promise));
  if (promise.pending()) clients.watch(client);
  clients.wake_at(core->next_deadline());
  return promise;
}

caf::result<Batch> QueueState::peek(const PeekRequest& request) {
  const auto client = self->current_sender();
  auto promise = self->make_response_promise<Batch>();
  if (!client) return promise;
  core->peek(request, caf::actor_cast<caf::actor_addr>(client), deliver_to(*this, promise));
  if (promise.pending()) clients.watch(client);
  clients.wake_at(core->next_deadline());
  return promise;
}

void QueueState::expect(const std::string& name, const caf::actor& producer) {
  core->expect(name, caf::actor_cast<caf::actor_addr>(producer));
  clients.watch(caf::actor_cast<caf::strong_actor_ptr>(producer));
  clients.wake_at(core->next_deadline());
}

caf::result<caf::ok_atom> QueueState::attach() {
  const auto producer = self->current_sender();
  auto promise = self->make_response_promise<caf::ok_atom>();
  core->attach(caf::actor_cast<caf::actor_addr>(producer), done_with(promise));
  clients.watch(producer);
  return promise;
}

caf::result<caf::ok_atom> QueueState::detach(const CloseReason& reason) {
  const auto producer = sender(*this);
  auto promise = self->make_response_promise<caf::ok_atom>();
  core->detach(producer, reason, done_with(promise));
  clients.wake_at(core->next_deadline());
  return promise;
}

caf::result<caf::ok_atom> QueueState::close(const CloseRequest& request) {
  auto promise = self->make_response_promise<caf::ok_atom>();
  core->close(request, done_with(promise));
  clients.wake_at(core->next_deadline());
  return promise;
}

SavableQueue::behavior_type queue_behavior(SavableQueue::stateful_pointer<QueueState> self,
                                           QueueOptions options,
                                           const std::function<QueueKind()>& kind) {
  auto& q = self->state;
  q.begin(std::move(options), kind);
  return {
      [&q](enqueue_atom, ElementBlock& block, const EnqueueOptions& o) {
        return q.enqueue(block, o);
      },
      [&q](dequeue_atom, const DequeueRequest& request) { return q.dequeue(request); },
      [&q](expect_atom, const std::string& name, const caf::actor& producer) {
        q.expect(name, producer);
      },
      [&q](attach_atom) { return q.attach(); },
      [&q](detach_atom, const CloseReason& reason) { return q.detach(reason); },
      [&q](caf::close_atom, const CloseRequest& request) { return q.close(request); },
      [&q](status_atom) { return q.core->status(); },
      [&q](snapshot_atom) { return answer([&] { return q.core->snapshot(); }); },
      [&q](restore_atom, QueueSnapshot& snapshot) {
        return answer([&] {
          q.core->restore(std::move(snapshot));
          return caf::ok_atom_v;
        });
      },
  };
}

}  // namespace troupe
