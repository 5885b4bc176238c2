#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/messages/fault.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/queue_core.h"
#include "troupe/queues/random_shuffle_queue.h"
#include "troupe/queues/stack_elements.h"

namespace troupe::test {

/// What became of one request to a queue.
template <class T>
struct Outcome {
  std::optional<T> value;
  caf::error error;
  int answers = 0;

  bool pending() const { return answers == 0; }
  Code code() const { return error ? code_of(error) : Code::ok; }
  std::string words() const { return error ? to_error(error).what() : std::string(); }
};
using EnqueueOutcome = std::shared_ptr<Outcome<bool>>;
using DequeueOutcome = std::shared_ptr<Outcome<std::vector<std::int64_t>>>;

inline Element number(std::int64_t value) { return {Tensor::scalar<std::int64_t>(value)}; }

inline ElementBlock block_of(const std::vector<std::int64_t>& values) {
  ElementBlock block;
  for (const auto value : values) block.elements.push_back(number(value));
  return block;
}

/// The last component of stacked elements: the only one, or what comes behind a priority.
inline std::vector<std::int64_t> numbers(const TensorList& components) {
  if (components.empty()) return {};
  const auto values = components.back().read<std::int64_t>();
  return {values.begin(), values.end()};
}
inline std::vector<std::int64_t> numbers(const Batch& batch) { return numbers(batch.components); }

/// Drives a queue of numbers without actors, on a clock that stands still.
struct QueueDriver {
  explicit QueueDriver(QueueOptions options, QueueKind kind = fifo_kind())
      : core(std::move(kind), std::move(options), [this] { return now; }) {}
  QueueDriver(QueueOptions options, std::unique_ptr<ElementStore> store)
      : QueueDriver(std::move(options), QueueKind{"Queue", std::move(store)}) {}

  EnqueueOutcome enqueue(const std::vector<std::int64_t>& values,
                         const EnqueueOptions& options = {}) {
    return enqueue_block(block_of(values), options);
  }
  EnqueueOutcome enqueue_block(ElementBlock block, const EnqueueOptions& options = {}) {
    auto outcome = std::make_shared<Outcome<bool>>();
    core.enqueue(std::move(block), options, {}, done(outcome));
    return outcome;
  }
  DequeueOutcome dequeue(std::int64_t count, bool up_to = false, Timeout timeout = kForever) {
    auto outcome = std::make_shared<Outcome<std::vector<std::int64_t>>>();
    core.dequeue({count, up_to, timeout}, {}, [this, outcome](caf::expected<ElementBlock> taken) {
      ++outcome->answers;
      if (taken)
        outcome->value = numbers(stack(taken->elements));
      else
        outcome->error = taken.error();
    });
    return outcome;
  }
  EnqueueOutcome close(bool cancel_pending = false, const CloseReason& reason = {},
                       Timeout timeout = kForever) {
    auto outcome = std::make_shared<Outcome<bool>>();
    core.close({cancel_pending, reason, timeout}, done(outcome));
    return outcome;
  }
  void advance(std::chrono::milliseconds time) {
    now += time;
    core.expire();
  }

  TensorList stack(const std::vector<Element>& elements) const {
    return core.padding() ? stack_padded(elements, *core.padding()) : stack_elements(elements);
  }

  static QueueCore::Done done(const EnqueueOutcome& outcome) {
    return [outcome](const caf::error& error) {
      ++outcome->answers;
      outcome->error = error;
      outcome->value = !error;
    };
  }

  QueueCore::TimePoint now{};
  QueueCore core;
};

}  // namespace troupe::test
