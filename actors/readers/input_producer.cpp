#include "troupe/actors/readers/input_producer.h"

#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/actors/readers/epoch_order.h"
#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/record_source.h"
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

// ---- where it stands -------------------------------------------------------------------------

/// A position is that of one stream: the number of the next element, and as offset how many
/// there are in an epoch.
void seek(ProducerState& p, const std::string& position) {
  const auto to = SourcePosition::parse(position);
  const auto count = static_cast<std::uint64_t>(p.what.count);
  if (to.streams.size() == 1 && to.streams[0].offset != count)
    fail(Code::invalid_argument, "the position \"", position, "\" is one among ",
         to.streams[0].offset, " elements, but there are ", count, ": ", p.what.description);
  const auto epochs = static_cast<std::uint64_t>(p.options.epochs);
  const bool forever = p.options.epochs == ProducerOptions::kForever;
  if (to.streams.size() != 1 || to.streams[0].file != 0 || to.streams[0].skip != 0 ||
      to.streams[0].record < 1 || to.streams[0].record > p.what.count ||
      (!forever && to.epoch >= epochs && (to.epoch > epochs || to.streams[0].record > 1)))
    fail(Code::invalid_argument, "there is no position \"", position, "\" in ",
         forever ? "" : text(epochs, epochs == 1 ? " epoch of " : " epochs of "),
         p.what.description);
  p.epoch = p.first_epoch = to.epoch;
  p.next = p.first = to.streams[0].record - 1;
  p.order.clear();
}

void prepare(ProducerState& p) {
  if (p.what.element) return;
  if (p.options.epochs < 1 && p.options.epochs != ProducerOptions::kForever)
    fail(Code::invalid_argument, "epochs must be at least 1 (or ProducerOptions::kForever), not ",
         p.options.epochs);
  p.what = p.open();
  if (!p.options.position.empty()) seek(p, p.options.position);
}

/// The place behind so many elements.
ReaderSnapshot place_behind(const ProducerState& p, std::uint64_t taken) {
  const auto count = static_cast<std::uint64_t>(p.what.count);
  const auto place = static_cast<std::uint64_t>(p.first) + taken;
  const auto epoch = p.first_epoch + place / count;
  const auto next = place % count;
  StreamPosition at{.offset = count, .record = static_cast<std::int64_t>(next) + 1};
  return {SourcePosition{epoch, {at}}.str(), epoch * count + next};
}

/// The same, from what the queue says.
ReaderSnapshot snapshot(const ProducerState& p, const QueueStatus& queue) {
  if (!queue.kind.ends_with("FIFOQueue"))
    fail(Code::failed_precondition, queue.kind, " '", queue.name,
         "' gives out elements in another order than they came in: what is left of them has no "
         "position");
  if (queue.enqueued < p.produced || queue.enqueued > p.produced + p.on_the_way)
    fail(Code::failed_precondition, queue.kind, " '", queue.name,
         "' has elements of others, too: what is left of them has no position");
  return place_behind(p, queue.dequeued);
}

// ---- going on --------------------------------------------------------------------------------

/// The next elements, all of one epoch; none after the last.
ElementBlock next_block(ProducerState& p) {
  constexpr std::int64_t kBlock = 64;
  if (p.next == p.what.count) {
    p.next = 0;
    ++p.epoch;
  }
  const bool forever = p.options.epochs == ProducerOptions::kForever;
  if (!forever && p.epoch == static_cast<std::uint64_t>(p.options.epochs)) return {};
  if (p.options.shuffle && (p.next == 0 || p.order.empty()))
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
  p.on_the_way = count;
  p.clock.enter(StageActivity::waiting_for_output);
  self->request(p.queue, caf::infinite, enqueue_atom_v, std::move(block), EnqueueOptions{})
      .then(
          [self, count](caf::ok_atom) {
            auto& p = self->state;
            p.enqueuing = false;
            p.produced += count;
            p.on_the_way = 0;
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
    prepare(p);
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
        p.running = p.begun = true;
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
        const CloseReason reason{Code::cancelled, "the producer has been stopped"};
        // A queue that expects us must not wait for one that will not come.
        if (!std::exchange(p.begun, true))
          self->request(p.queue, caf::infinite, detach_atom_v, reason)
              .then([](caf::ok_atom) {}, [](const caf::error&) {});
        if (!p.end) p.end = fault(reason.code, reason.message);
        advance(self);
        return caf::ok_atom_v;
      },
      [self](status_atom) { return self->state.clock.read(); },
      [self](snapshot_atom) -> caf::result<ReaderSnapshot> {
        auto& p = self->state;
        try {
          prepare(p);
          if (!p.begun) return place_behind(p, 0);
        } catch (...) {
          return current_fault();
        }
        auto promise = self->make_response_promise<ReaderSnapshot>();
        self->request(p.queue, caf::infinite, status_atom_v)
            .then(
                [self, promise](const QueueStatus& queue) mutable {
                  try {
                    promise.deliver(snapshot(self->state, queue));
                  } catch (...) {
                    promise.deliver(current_fault());
                  }
                },
                [promise](caf::error& why) mutable { promise.deliver(std::move(why)); });
        return promise;
      },
      [self](restore_atom, const ReaderSnapshot& to) {
        return answer([&] {
          auto& p = self->state;
          if (p.begun)
            fail(Code::failed_precondition,
                 "a producer is restored before it is started (ProducerOptions::position)");
          prepare(p);
          seek(p, to.position);
          return caf::ok_atom_v;
        });
      },
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
