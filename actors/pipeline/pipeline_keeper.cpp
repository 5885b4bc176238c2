#include "troupe/actors/pipeline/pipeline_keeper.h"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <memory>
#include <utility>

#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using Self = PipelineKeeper::stateful_pointer<PipelineKeeperState>;

/// A snapshot in the making.
struct Making {
  SavableQueue queue;
  std::vector<KeptLane> lanes;
  PipelineSnapshot snapshot;
  std::size_t missing = 0;  // answers
  caf::typed_response_promise<PipelineSnapshot> promise;

  void fail(const std::string& whom, const caf::error& why) {
    if (promise.pending()) promise.deliver(fault(to_error(why).within(whom)));
  }
};
using MakingPtr = std::shared_ptr<Making>;

std::size_t readers_of(const Making& making) {
  std::size_t count = 0;
  for (const auto& lane : making.lanes) count += lane.reader ? 1 : 0;
  return count;
}

void deliver(const MakingPtr& making) {
  if (making->promise.pending()) making->promise.deliver(std::move(making->snapshot));
}

BlockReceipts receipts_of(const Making& making, std::size_t lane) {
  const auto& all = making.snapshot.queue.receipts;
  return lane < all.size() ? all[lane] : BlockReceipts{};
}

/// The last step, which every reader must see: it ends what the first one began.
void ask_readers(Self self, const MakingPtr& making) {
  making->missing = readers_of(*making);
  for (std::size_t i = 0; i < making->lanes.size(); ++i) {
    auto& lane = making->snapshot.lanes.emplace_back();
    lane.description = making->lanes[i].description;
    lane.positioned = static_cast<bool>(making->lanes[i].reader);
    const auto receipts = receipts_of(*making, i);
    lane.elements = receipts.elements;
    lane.left_out = receipts.left_out;
    if (!lane.positioned) continue;
    self->request(making->lanes[i].reader, caf::infinite, cut_atom_v, receipts)
        .then(
            [making, i](ReadingState& state) {
              making->snapshot.lanes[i].reading = std::move(state);
              if (--making->missing == 0) deliver(making);
            },
            [making, i](const caf::error& why) {
              making->fail(making->lanes[i].description, why);
            });
  }
  if (making->missing == 0) deliver(making);
}

void ask_queue(Self self, const MakingPtr& making) {
  self->request(making->queue, caf::infinite, snapshot_atom_v)
      .then(
          [self, making](QueueSnapshot& snapshot) {
            making->snapshot.queue = std::move(snapshot);
            ask_readers(self, making);
          },
          [self, making](const caf::error& why) {
            making->fail("the queue", why);
            ask_readers(self, making);
          });
}

void begin(Self self, const MakingPtr& making) {
  making->missing = readers_of(*making);
  if (making->missing == 0) return ask_queue(self, making);
  const auto next = [self, making] {
    if (--making->missing == 0) ask_queue(self, making);
  };
  for (const auto& lane : making->lanes)
    if (lane.reader)
      self->request(lane.reader, caf::infinite, cut_atom_v)
          .then([next](caf::ok_atom) { next(); },
                [next, making, whom = lane.description](const caf::error& why) {
                  making->fail(whom, why);
                  next();
                });
}

}  // namespace

PipelineKeeper::behavior_type pipeline_keeper(Self self, SavableQueue queue,
                                              std::vector<KeptLane> lanes) {
  return {[self, queue, lanes](snapshot_atom) -> caf::result<PipelineSnapshot> {
    const auto making = std::make_shared<Making>();
    making->queue = queue;
    making->lanes = lanes;
    making->promise = self->make_response_promise<PipelineSnapshot>();
    begin(self, making);
    return making->promise;
  }};
}

}  // namespace troupe
