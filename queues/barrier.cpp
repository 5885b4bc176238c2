#include "troupe/queues/barrier.h"

#include <caf/actor_cast.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <utility>

#include "troupe/messages/answer.h"

namespace troupe {
namespace {

std::unique_ptr<BarrierCore> make_core(BarrierOptions options, const BarrierCore::Now& now) {
  const auto name = options.name;
  try {
    return std::make_unique<BarrierCore>(std::move(options), now);
  } catch (const Error& error) {
    // Nobody would hear what an actor throws that only begins.
    auto core = std::make_unique<BarrierCore>(BarrierOptions{name, {QueueComponent{}}}, now);
    core->close({true, {error.code(), error.what()}});
    return core;
  }
}

}  // namespace

BarrierState::~BarrierState() {
  if (core) core->end();
}

Barrier::behavior_type barrier(Barrier::stateful_pointer<BarrierState> self,
                               BarrierOptions options) {
  auto& b = self->state;
  b.core = make_core(std::move(options), [self] { return self->clock().now(); });
  b.clients.begin([&b](const auto& client, const auto&) { b.core->lost(client); },
                  [&b] {
                    b.core->expire();
                    b.clients.wake_at(b.core->next_deadline());
                  });
  return {
      [&b](insert_atom, const BarrierInsert& insert) {
        return answer([&] {
          b.core->insert(insert);
          return caf::ok_atom_v;
        });
      },
      [self](take_atom, const DequeueRequest& request) -> caf::result<BarrierBatch> {
        auto& b = self->state;
        const auto client = self->current_sender();  // a promise takes the sender away
        auto promise = self->make_response_promise<BarrierBatch>();
        if (!client) return promise;  // nobody to give the elements to
        b.core->take(request, caf::actor_cast<caf::actor_addr>(client),
                     [promise](caf::expected<BarrierBatch> batch) mutable {
                       if (batch)
                         promise.deliver(std::move(*batch));
                       else
                         promise.deliver(std::move(batch.error()));
                     });
        if (promise.pending()) b.clients.watch(client);
        b.clients.wake_at(b.core->next_deadline());
        return promise;
      },
      [&b](caf::close_atom, const CloseRequest& request) {
        b.core->close(request);
        return caf::ok_atom_v;
      },
      [&b](status_atom) { return b.core->status(); },
  };
}

}  // namespace troupe
