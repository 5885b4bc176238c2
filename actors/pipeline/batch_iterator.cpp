#include "troupe/actors/pipeline/batch_iterator.h"

#include "troupe/actors/topology/troupe.h"

namespace troupe {

struct BatchIterator::State {
  State(const Batches& b, ThreadBudget threads)
      : batches(b.in_order()), troupe(threads), running(batches.spawn(troupe, "", 0)) {
    for (const auto& [name, decoder] : running.decoders) troupe.tell(decoder, start_atom_v);
  }
  Batches batches;
  Troupe troupe;
  Batches::Running running;
};

BatchIterator::BatchIterator(const Batches& batches, ThreadBudget threads)
    : state_(std::make_unique<State>(batches, threads)) {}

BatchIterator::~BatchIterator() {
  constexpr std::chrono::seconds kPatience{30};
  stop(kPatience);
}

std::optional<Batch> BatchIterator::next(Timeout timeout) {
  if (!state_) fail(Code::cancelled, "the batches have been stopped");
  DequeueRequest request;
  request.count = state_->batches.rows();
  request.up_to = state_->batches.remainder() == Remainder::keep;
  request.timeout = timeout;
  caf::scoped_actor self{state_->troupe.system()};
  std::optional<Batch> batch;
  std::optional<Error> failure;
  self->request(state_->running.queue, caf::infinite, dequeue_atom_v, request)
      .receive([&](Batch& b) { batch = std::move(b); },
               [&](caf::error& error) { failure = to_error(error); });
  if (failure && failure->code() != Code::out_of_range) throw *failure;
  return batch;
}

std::vector<std::string> BatchIterator::stop(std::chrono::milliseconds deadline) {
  if (!state_) return {};
  // A handle keeps the thread of a detached actor, and the system waits for it.
  state_->running = {};
  auto left = state_->troupe.stop(deadline);
  if (left.empty())
    state_.reset();
  else
    (void)state_.release();  // its actors may still run: there is no way to take their memory
  return left;
}

}  // namespace troupe
