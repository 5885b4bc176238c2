#include "troupe/actors/readers/input_producer.h"

#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/actors/readers/epoch_order.h"
#include "troupe/actors/readers/file_list.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = Producer::stateful_pointer<ProducerState>;

// ---- what they give out ----------------------------------------------------------------------

ProducedElements file_names(const std::vector<std::string>& patterns) {
  auto files = expand_files(patterns);
  ProducedElements what;
  what.count = static_cast<std::int64_t>(files.size());
  what.description = describe_files(files);
  what.element = [files = std::move(files)](std::int64_t i) {
    return Element{Tensor::scalar<std::string>(files[static_cast<std::size_t>(i)])};
  };
  return what;
}

ProducedElements range(std::int64_t limit) {
  if (limit < 1) fail(Code::invalid_argument, "the limit of a range is at least 1, not ", limit);
  return {limit, [](std::int64_t i) { return Element{Tensor::scalar<std::int64_t>(i)}; },
          text("0 to ", limit - 1)};
}

ProducedElements slices(const TensorList& tensors) {
  if (tensors.empty()) fail(Code::invalid_argument, "there are no tensors to take rows of");
  for (const auto& tensor : tensors)
    if (tensor.shape().rank() == 0)
      fail(Code::invalid_argument, "a scalar has no rows to give out");
  const auto rows = tensors[0].shape()[0];
  if (rows == 0) fail(Code::invalid_argument, "the tensors have no rows");
  for (const auto& tensor : tensors)
    if (tensor.shape()[0] != rows)
      fail(Code::invalid_argument, "the tensors have different numbers of rows: ", rows, " and ",
           tensor.shape()[0]);
  const auto row = [tensors](std::int64_t i) {
    Element element;
    for (const auto& tensor : tensors)
      element.push_back(tensor.slice(i, i + 1).reshape(tensor.shape().without_first()));
    return element;
  };
  return {rows, row, text(rows, " rows")};
}

// ---- giving it out ---------------------------------------------------------------------------

/// Tells the queue that we are through, and whoever started us.
void finish(Self self) {
  auto& p = self->state;
  p.running = false;
  p.clock.enter(StageActivity::idle);
  const auto why = to_error(p.end);
  const CloseReason reason{why.code(), why.what()};
  const auto answer = [self, failed = reason.failed()] {
    auto& p = self->state;
    auto promise = std::exchange(p.started, {});  // which would keep us alive
    if (failed)
      promise.deliver(p.end);
    else
      promise.deliver(p.produced);
  };
  self->request(p.queue, caf::infinite, detach_atom_v, reason)
      .then([answer](caf::ok_atom) { answer(); }, [answer](const caf::error&) { answer(); });
}

void open(ProducerState& p) {
  if (p.options.epochs < 1 && p.options.epochs != ProducerOptions::kForever)
    fail(Code::invalid_argument, "epochs must be at least 1 (or ProducerOptions::kForever), not ",
         p.options.epochs);
  p.what = p.open();
}

/// The next elements, all of one epoch; none after the last.
ElementBlock next_block(ProducerState& p) {
  constexpr std::int64_t kBlock = 64;
  if (p.next == p.what.count) {
    p.next = 0;
    ++p.epoch;
  }
  const bool forever = p.options.epochs == ProducerOptions::kForever;
  if (!forever && p.epoch == static_cast<std::uint64_t>(p.options.epochs)) return {};
  if (p.options.shuffle && p.next == 0)
    p.order = epoch_order(static_cast<std::size_t>(p.what.count), p.options.seed, p.epoch);
  ElementBlock block;
  for (const auto end = std::min(p.next + kBlock, p.what.count); p.next < end; ++p.next) {
    const auto place = static_cast<std::size_t>(p.next);
    block.elements.push_back(
        p.what.element(p.options.shuffle ? static_cast<std::int64_t>(p.order[place]) : p.next));
  }
  return block;
}

void advance(Self self);

void enqueue(Self self, ElementBlock block) {
  auto& p = self->state;
  const auto count = block.elements.size();
  p.enqueuing = true;
  p.clock.enter(StageActivity::waiting_for_output);
  self->request(p.queue, caf::infinite, enqueue_atom_v, std::move(block), EnqueueOptions{})
      .then(
          [self, count](caf::ok_atom) {
            auto& p = self->state;
            p.enqueuing = false;
            p.produced += count;
            p.clock.passed_on(count, 0);
            advance(self);
          },
          [self](caf::error& why) {
            auto& p = self->state;
            p.enqueuing = false;
            if (!p.end) p.end = std::move(why);
            advance(self);
          });
}

/// Does what can be done now.
void advance(Self self) {
  auto& p = self->state;
  if (!p.running || (p.enqueuing && !p.end)) return;
  if (p.end) return finish(self);
  p.clock.enter(StageActivity::busy);
  try {
    if (!p.what.element) open(p);
    auto block = next_block(p);
    if (!block.elements.empty()) return enqueue(self, std::move(block));
    p.end = fault(Code::out_of_range, "end of data: ", p.what.description, ", ", p.options.epochs,
                  p.options.epochs == 1 ? " time" : " times");
  } catch (...) {
    p.end = current_failure();
  }
  finish(self);
}

Producer::behavior_type behavior(Self self, Queue queue, ProducerOptions options,
                                 std::function<ProducedElements()> open) {
  auto& p = self->state;
  p.queue = std::move(queue);
  p.options = options;
  p.open = std::move(open);
  return {
      [self](start_atom) -> caf::result<std::uint64_t> {
        auto& p = self->state;
        if (p.end) return p.end;
        if (p.running) return fault(Code::failed_precondition, "the producer is running already");
        p.running = true;
        p.started = self->make_response_promise<std::uint64_t>();
        self->request(p.queue, caf::infinite, attach_atom_v)
            .then([self](caf::ok_atom) { advance(self); },
                  [self](caf::error& why) {
                    self->state.running = false;
                    self->state.end = why;
                    std::exchange(self->state.started, {}).deliver(std::move(why));
                  });
        return p.started;
      },
      [self](stop_atom) {
        auto& p = self->state;
        if (!p.end) p.end = fault(Code::cancelled, "the producer has been stopped");
        advance(self);
        return caf::ok_atom_v;
      },
      [self](status_atom) { return self->state.clock.read(); },
  };
}

}  // namespace

ProducerState::~ProducerState() {
  if (started.pending()) started.deliver(fault(Code::cancelled, "the producer has been stopped"));
}

Producer::behavior_type file_name_producer(Self self, Queue queue, std::vector<std::string> files,
                                           ProducerOptions options) {
  return behavior(self, std::move(queue), options,
                  [files = std::move(files)] { return file_names(files); });
}

Producer::behavior_type range_producer(Self self, Queue queue, std::int64_t limit,
                                       ProducerOptions options) {
  return behavior(self, std::move(queue), options, [limit] { return range(limit); });
}

Producer::behavior_type slice_producer(Self self, Queue queue, TensorList tensors,
                                       ProducerOptions options) {
  return behavior(self, std::move(queue), options,
                  [tensors = std::move(tensors)] { return slices(tensors); });
}

}  // namespace troupe
