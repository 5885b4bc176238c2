#include "troupe/queues/broadcast_cuts.h"

#include <algorithm>
#include <utility>

#include "troupe/messages/fault.h"

namespace troupe {

struct BroadcastCuts::Cut {
  PipelineSnapshot made;  ///< with all batches that have come since
  bool has_snapshot = false;
  caf::typed_response_promise<PipelineSnapshot> promise;
};

void BroadcastCuts::begin(std::string broadcast, std::uint64_t received) {
  broadcast_ = std::move(broadcast);
  received_ = received;
}

BroadcastCuts::~BroadcastCuts() {
  for (const auto& cut : open_)
    cut->promise.deliver(fault(Code::unavailable, "broadcast '", broadcast_, "' has been ended"));
}

BroadcastCuts::CutPtr BroadcastCuts::open(std::vector<Batch> batches,
                                          caf::typed_response_promise<PipelineSnapshot> promise) {
  auto& cut = open_.emplace_back(std::make_shared<Cut>());
  cut->made.left = std::move(batches);
  cut->promise = std::move(promise);
  return cut;
}

void BroadcastCuts::take(const CutPtr& cut, PipelineSnapshot snapshot) {
  snapshot.left = std::move(cut->made.left);
  cut->made = std::move(snapshot);
  cut->has_snapshot = true;
  deliver();
}

void BroadcastCuts::fail(const CutPtr& cut, const caf::error& why) {
  if (std::erase(open_, cut) > 0) cut->promise.deliver(why);
}

void BroadcastCuts::note_arrival(const Batch& batch) {
  received_ = batch.sequence + 1;
  for (const auto& cut : open_) cut->made.left.push_back(batch);
  deliver();
}

void BroadcastCuts::note_end(const caf::error& why) {
  end_ = why;
  deliver();
}

void BroadcastCuts::deliver() {
  std::erase_if(open_, [&](const CutPtr& cut) {
    auto& made = cut->made;
    const bool all = received_ >= made.queue.batches;
    if (!cut->has_snapshot || (!all && !end_)) return false;
    if (!all) return cut->promise.deliver(end_), true;
    std::erase_if(made.left,
                  [&](const Batch& batch) { return batch.sequence >= made.queue.batches; });
    cut->promise.deliver(std::move(made));
    return true;
  });
}

}  // namespace troupe
