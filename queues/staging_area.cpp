#include "troupe/queues/staging_area.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/queues/fifo_store.h"

namespace troupe {

QueueKind staging_kind() { return {"StagingArea", std::make_unique<FifoStore>(), true}; }

StagingArea::behavior_type staging_area(StagingArea::stateful_pointer<QueueState> self,
                                        QueueOptions options) {
  auto& s = self->state;
  s.begin(std::move(options), staging_kind);
  return {
      [&s](enqueue_atom, ElementBlock& block, const EnqueueOptions& o) {
        return s.enqueue(block, o);
      },
      [&s](dequeue_atom, const DequeueRequest& request) { return s.dequeue(request); },
      [&s](expect_atom, const std::string& name, const caf::actor& producer) {
        s.expect(name, producer);
      },
      [&s](attach_atom) { return s.attach(); },
      [&s](detach_atom, const CloseReason& reason) { return s.detach(reason); },
      [&s](caf::close_atom, const CloseRequest& request) { return s.close(request); },
      [&s](status_atom) { return s.core->status(); },
      [&s](peek_atom, const PeekRequest& request) { return s.peek(request); },
      [&s](clear_atom) {
        s.core->clear();
        return caf::ok_atom_v;
      },
  };
}

}  // namespace troupe
