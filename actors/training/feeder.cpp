#include "troupe/actors/training/feeder.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using Self = BatchSource::stateful_pointer<FeederState>;

void ask(Self self, const FeederOptions& options);

Batch share(const Batch& batch, std::uint32_t index, std::uint32_t count) {
  const auto rows = batch.rows();
  const auto begin = rows * index / count;
  const auto end = rows * (index + 1) / count;
  Batch part;
  // Shares of one batch follow one another in deterministic mode.
  part.sequence = batch.sequence * count + index;
  for (const auto& component : batch.components)
    part.components.push_back(component.slice(begin, end));
  return part;
}

void hand_out(Self self, const FeederOptions& options, const Batch& batch) {
  auto& s = self->state;
  if (!s.split) {
    const auto first = s.waiting.begin();
    auto promise = std::move(first->second);
    s.waiting.erase(first);
    promise.deliver(batch);
    return;
  }
  for (std::uint32_t replica = 0; replica < options.replicas; ++replica) {
    auto part = share(batch, replica, options.replicas);
    const auto waiting = s.waiting.find(replica);
    if (waiting == s.waiting.end()) {
      s.ready[replica].push_back(std::move(part));
      continue;
    }
    auto promise = std::move(waiting->second);
    s.waiting.erase(waiting);
    promise.deliver(std::move(part));
  }
}

void ask(Self self, const FeederOptions& options) {
  auto& s = self->state;
  if (s.asked || s.waiting.empty()) return;
  s.asked = true;
  s.clock.enter(StageActivity::waiting_for_input);
  DequeueRequest request;
  request.count = options.batch;
  request.up_to = !options.drop_remainder;
  self->request(options.queue, caf::infinite, dequeue_atom_v, request)
      .then(
          [self, options](const Batch& batch) {
            auto& s = self->state;
            s.asked = false;
            s.clock.enter(StageActivity::waiting_for_output);
            s.clock.passed_on(static_cast<std::uint64_t>(batch.rows()), 0);
            hand_out(self, options, batch);
            ask(self, options);
          },
          [self](caf::error& error) {
            auto& s = self->state;
            s.asked = false;
            s.clock.enter(StageActivity::idle);
            s.end = error;
            for (auto& [replica, promise] : s.waiting) promise.deliver(error);
            s.waiting.clear();
          });
}

}  // namespace

BatchSource::behavior_type feeder(Self self, FeederOptions options) {
  self->state.split = options.split;
  return {
      [self, options](next_atom, std::uint32_t replica) -> caf::result<Batch> {
        auto& s = self->state;
        auto& ready = s.ready[replica];
        if (!ready.empty()) {
          auto batch = std::move(ready.front());
          ready.pop_front();
          return batch;
        }
        if (s.end) return s.end;
        auto promise = self->make_response_promise<Batch>();
        if (!s.waiting.emplace(replica, promise).second)
          return fault(Code::failed_precondition, "feeder: replica ", replica,
                       " asked for a batch twice");
        ask(self, options);
        return promise;
      },
      [self](assign_atom, bool split) { self->state.split = split; },
      [self](status_atom) { return self->state.clock.read(); },
  };
}

}  // namespace troupe
