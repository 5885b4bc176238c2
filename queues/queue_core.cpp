#include "troupe/queues/queue_core.h"

#include <algorithm>
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {

QueueCore::QueueCore(std::string kind, QueueOptions options, std::unique_ptr<ElementStore> store,
                     Now now)
    : kind_(std::move(kind)),
      title_(kind_ + " '" + options.name + "'"),
      options_(std::move(options)),
      store_(std::move(store)),
      now_(std::move(now)) {
  if (options_.capacity < 1 && options_.capacity != QueueOptions::kUnbounded)
    fail(Code::invalid_argument, title_, ": capacity is ", options_.capacity,
         ", but a queue holds at least 1 element (QueueOptions::kUnbounded for no limit)");
  const auto floor = store_->floor();
  if (floor < 0 || (options_.capacity != QueueOptions::kUnbounded && floor >= options_.capacity))
    fail(Code::invalid_argument, title_, ": min_after_dequeue is ", floor,
         ", but must be at least 0 and below the capacity, which is ", options_.capacity);
}

// ---- requests --------------------------------------------------------------------------------

void QueueCore::enqueue(ElementBlock block, const EnqueueOptions& options, Done done) {
  if (block.elements.empty()) return done({});
  if (closing_) return done(closed_fault());
  try {
    check(block.elements);
  } catch (...) {
    return done(current_fault());
  }
  WaitingEnqueue waiting;
  waiting.elements = std::move(block.elements);
  waiting.atomic = options.atomic;
  waiting.timeout = options.timeout;
  waiting.deadline = deadline_of(options.timeout);
  waiting.done = std::move(done);
  enqueues_.push_back(std::move(waiting));
  flush();
}

void QueueCore::dequeue(const DequeueRequest& request, caf::actor_addr client, TakenDone done) {
  if (request.count < 0)
    return done(fault(Code::invalid_argument, title_, ": a dequeue asked for ", request.count,
                      " elements"));
  for (std::size_t c = 0; c < options_.components.size(); ++c) {
    const auto& spec = options_.components[c].spec;
    if (request.count != 1 && !options_.padding && !spec.shape.known())
      return done(fault(Code::invalid_argument, title_, ": ", component_name(c), " is ", spec,
                        ", and elements whose shapes may differ leave one at a time"));
  }
  if (request.count == 0) return done(ElementBlock{batches_, {}});
  WaitingDequeue waiting;
  waiting.request = request;
  waiting.client = std::move(client);
  waiting.deadline = deadline_of(request.timeout);
  waiting.done = std::move(done);
  dequeues_.push_back(std::move(waiting));
  flush();
}

void QueueCore::close(const CloseRequest& request, Done done) {
  if (!closing_ || (request.reason.failed() && !reason_.failed())) reason_ = request.reason;
  closing_ = true;
  if (request.cancel_pending) {
    closed_ = true;
    for (auto& waiting : std::exchange(enqueues_, {}))
      waiting.done(waiting.closes ? caf::error() : closed_fault());
    done({});
  } else {
    WaitingEnqueue barrier;
    barrier.closes = true;
    barrier.done = std::move(done);
    enqueues_.push_back(std::move(barrier));
  }
  flush();
}

void QueueCore::attach(const caf::actor_addr& producer, Done done) {
  if (!producer)
    return done(fault(Code::invalid_argument, title_, ": a producer without an address attached"));
  if (closing_) return done(closed_fault());
  if (producers_.insert(producer).second) ++attached_;
  look_for_producers();
  done({});
}

void QueueCore::detach(const caf::actor_addr& producer, const CloseReason& reason, Done done) {
  if (producers_.erase(producer) == 0)
    return done(fault(Code::failed_precondition, title_,
                      ": an actor that is not attached as a producer detached"));
  // After the close a producer may well fail: with the news that the queue is closed.
  const bool last = producers_.empty() && attached_ >= options_.producers;
  if (!closing_ && (reason.failed() || last))
    close({.cancel_pending = reason.failed(), .reason = reason}, [](const caf::error&) {});
  look_for_producers();
  done({});
}

void QueueCore::lost(const caf::actor_addr& actor, const caf::error& reason) {
  for (auto& waiting : dequeues_)
    if (waiting.client == actor) put_back(waiting);
  std::erase_if(dequeues_, [&](const auto& waiting) { return waiting.client == actor; });
  if (producers_.erase(actor) > 0 && !closing_) {
    const auto error = reason ? to_error(reason) : Error(Code::unavailable, "it quit");
    const auto code = error.code() == Code::unknown ? Code::unavailable : error.code();
    close(
        {.cancel_pending = true,
         .reason = {code, text("a producer of ", title_, " ended without a word: ", error.what())}},
        [](const caf::error&) {});
  }
  flush();
}

// ---- time ------------------------------------------------------------------------------------

std::optional<QueueCore::TimePoint> QueueCore::deadline_of(Timeout timeout) const {
  if (timeout < Timeout::zero()) return std::nullopt;
  return now_() + timeout;
}

std::optional<QueueCore::TimePoint> QueueCore::next_deadline() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](const auto& list) {
    for (const auto& waiting : list)
      if (waiting.deadline && (!next || *waiting.deadline < *next)) next = waiting.deadline;
  };
  consider(enqueues_);
  consider(dequeues_);
  if (abandoned_ && (!next || *abandoned_ < *next)) next = abandoned_;
  return next;
}

void QueueCore::expire() {
  const auto now = now_();
  const auto due = [now](const auto& waiting) {
    return waiting.deadline && *waiting.deadline <= now;
  };
  for (auto& waiting : enqueues_)
    if (due(waiting))
      waiting.done(fault(Code::deadline_exceeded, title_, " was full for ", waiting.timeout.count(),
                         " ms: ", waiting.next, " of ", waiting.elements.size(),
                         " elements went in"));
  std::erase_if(enqueues_, due);
  const auto producers = producers_.empty() ? std::string("no producer is attached")
                                            : text("producers are attached: ", producers_.size());
  for (auto& waiting : dequeues_)
    if (due(waiting)) {
      waiting.done(fault(Code::deadline_exceeded, title_, ": ", waiting.taken.size(), " of ",
                         waiting.request.count, " elements came within ",
                         waiting.request.timeout.count(), " ms; ", producers));
      put_back(waiting);
    }
  std::erase_if(dequeues_, due);
  if (abandoned_ && *abandoned_ <= now) {
    const auto words =
        fault(Code::failed_precondition, title_, " has no producer: ", attached_, " of ",
              options_.producers, " have ever attached, and none did for ",
              options_.producer_patience.count(), " ms: has whoever fills it been started?");
    for (auto& waiting : dequeues_) {
      put_back(waiting);
      waiting.done(words);
    }
    dequeues_.clear();
  }
  flush();
}

void QueueCore::look_for_producers() {
  if (dequeues_.empty() || closing_ || !producers_.empty())
    abandoned_.reset();
  else if (!abandoned_)
    abandoned_ = deadline_of(options_.producer_patience);
}

void QueueCore::end() {
  const auto gone = fault(Code::cancelled, title_, " has been stopped");
  for (auto& waiting : std::exchange(enqueues_, {})) waiting.done(gone);
  for (auto& waiting : std::exchange(dequeues_, {})) waiting.done(gone);
}

// ---- the machine -----------------------------------------------------------------------------

void QueueCore::flush() {
  bool moved = true;
  while (moved) {
    moved = advance_enqueues();
    moved = advance_dequeues() || moved;
  }
  const auto enqueues_wait =
      std::ranges::any_of(enqueues_, [](const auto& waiting) { return !waiting.closes; });
  blocked_on_full_.update(enqueues_wait, now_);
  blocked_on_empty_.update(!dequeues_.empty(), now_);
  look_for_producers();
}

bool QueueCore::advance_enqueues() {
  bool moved = false;
  full_ = false;
  while (!enqueues_.empty()) {
    auto& head = enqueues_.front();
    const auto before = head.next;
    if (!admit(head)) return moved || head.next != before;
    enqueues_.pop_front();
    moved = true;
  }
  return moved;
}

bool QueueCore::fits(std::uint64_t elements, std::uint64_t bytes) const {
  const auto size = static_cast<std::uint64_t>(store_->size());
  return (options_.capacity == QueueOptions::kUnbounded ||
          size + elements <= static_cast<std::uint64_t>(options_.capacity)) &&
         (options_.capacity_bytes == 0 || bytes_ + bytes <= options_.capacity_bytes);
}

bool QueueCore::admit(WaitingEnqueue& waiting) {
  if (waiting.closes) {
    closed_ = true;
    waiting.done({});
    return true;
  }
  const auto total = waiting.elements.size();
  while (waiting.next < total) {
    const auto end = waiting.atomic ? total : waiting.next + 1;
    std::uint64_t bytes = 0;
    for (auto i = waiting.next; i < end; ++i) bytes += byte_size(waiting.elements[i]);
    if (!fits(end - waiting.next, bytes)) {
      full_ = true;
      // When nothing leaves there will never be more room.
      if (!store_->stuck()) return false;
      waiting.done(never_fits(waiting));
      return true;
    }
    while (waiting.next < end) put(std::move(waiting.elements[waiting.next++]));
  }
  waiting.done({});
  return true;
}

void QueueCore::put(Element element) {
  bytes_ += byte_size(element);
  store_->put(std::move(element));
  ++enqueued_;
}

bool QueueCore::may_take() const {
  if (closed_) return store_->size() > 0;
  return store_->size() > store_->floor() && (full_ || !options_.only_when_full);
}

bool QueueCore::advance_dequeues() {
  bool moved = false;
  while (!dequeues_.empty()) {
    auto& head = dequeues_.front();
    const bool grouped = store_->grouped();
    const auto count = static_cast<std::size_t>(!grouped     ? head.request.count
                                                : may_take() ? store_->next_group(closed_)
                                                             : 0);
    while (head.taken.size() < count && (grouped || may_take())) {
      head.taken.push_back(store_->take());
      bytes_ -= byte_size(head.taken.back());
      full_ = false;
      moved = true;
    }
    const bool complete = head.taken.size() == count && count > 0;
    if (complete || (closed_ && head.request.up_to && !head.taken.empty())) {
      deliver(head);
    } else if (closed_) {
      put_back(head);
      head.done(insufficient(head));
    } else {
      return moved;
    }
    dequeues_.pop_front();
    moved = true;
  }
  return moved;
}

void QueueCore::put_back(WaitingDequeue& waiting) {
  for (const auto& element : waiting.taken) bytes_ += byte_size(element);
  store_->put_back(std::exchange(waiting.taken, {}));
}

void QueueCore::deliver(WaitingDequeue& waiting) {
  dequeued_ += waiting.taken.size();
  waiting.done(ElementBlock{batches_++, std::move(waiting.taken)});
}

// ---- checks and words ------------------------------------------------------------------------

void QueueCore::check(const std::vector<Element>& elements) {
  if (options_.components.empty())
    for (const auto& tensor : elements[0])
      options_.components.push_back({"", {tensor.dtype(), tensor.shape()}});
  const auto width = options_.components.size();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto& element = elements[i];
    if (element.size() != width)
      fail(Code::invalid_argument, title_, ": element ", i, " of the block has ", element.size(),
           " components, but ", width, " are needed");
    for (std::size_t c = 0; c < width; ++c) check_component(element, i, c);
    store_->check(element);
    if (options_.capacity_bytes > 0 && byte_size(element) > options_.capacity_bytes)
      fail(Code::resource_exhausted, title_, ": element ", i, " of the block has ",
           byte_size(element), " bytes, but the queue holds ", options_.capacity_bytes,
           " (QueueOptions::capacity_bytes)");
  }
}

void QueueCore::check_component(const Element& element, std::size_t index,
                                std::size_t component) const {
  const auto& tensor = element[component];
  const auto& spec = options_.components[component].spec;
  if (tensor.dtype() == spec.dtype && compatible(tensor.shape(), spec.shape)) return;
  fail(Code::invalid_argument, title_, ": ", component_name(component), " of element ", index,
       " of the block is ", tensor.dtype(), ' ', tensor.shape(), ", but must be ", spec);
}

std::string QueueCore::component_name(std::size_t component) const {
  const auto& name = options_.components[component].name;
  return name.empty() ? text("component ", component)
                      : text("component ", component, " '", name, "'");
}

caf::error QueueCore::closed_fault() const {
  return fault(Code::cancelled, title_, " is closed: ", reason_.message);
}

caf::error QueueCore::never_fits(const WaitingEnqueue& waiting) const {
  std::uint64_t bytes = 0;
  const auto rest = waiting.elements.size() - waiting.next;
  for (auto i = waiting.next; i < waiting.elements.size(); ++i)
    bytes += byte_size(waiting.elements[i]);
  return fault(Code::resource_exhausted, title_, ": there will never be room for ", rest,
               waiting.atomic ? " elements at once" : " more elements", " (", bytes,
               " bytes): the queue holds ", store_->size(), " of at most ", options_.capacity,
               " elements and ", bytes_, " of at most ", options_.capacity_bytes,
               " bytes (0: no limit), and keeps the last ", store_->floor(),
               " (min_after_dequeue)");
}

caf::error QueueCore::insufficient(const WaitingDequeue& waiting) const {
  const auto words = text(title_, " is closed and has insufficient elements (requested ",
                          waiting.request.count, ", current size ", store_->size(), ")");
  if (reason_.failed()) return fault(reason_.code, text(reason_.message, "; therefore ", words));
  return fault(Code::out_of_range, text(words, ": ", reason_.message));
}

// ---- status ----------------------------------------------------------------------------------

void QueueCore::Stopwatch::update(bool waiting, const Now& now) {
  if (waiting == since.has_value()) return;
  if (waiting) {
    since = now();
  } else {
    total += now() - *since;
    since.reset();
  }
}

std::chrono::nanoseconds QueueCore::Stopwatch::read(const Now& now) const {
  return since ? total + (now() - *since) : total;
}

TensorList QueueCore::no_rows() const {
  TensorList components;
  for (const auto& component : options_.components) {
    auto shape = component.spec.shape.with_first(0);
    for (int axis = 1; axis < shape.rank(); ++axis)
      if (shape[axis] == Shape::kUnknown) shape.set(axis, 0);
    components.emplace_back(component.spec.dtype, shape);
  }
  return components;
}

QueueStatus QueueCore::status() const {
  QueueStatus status;
  status.name = options_.name;
  status.kind = kind_;
  status.floor = store_->floor();
  status.size = store_->size();
  status.capacity = options_.capacity;
  status.bytes = bytes_;
  status.capacity_bytes = options_.capacity_bytes;
  status.closed = closed_;
  if (closing_) status.reason = reason_;
  status.producers = static_cast<std::int64_t>(producers_.size());
  status.waiting_enqueues =
      std::ranges::count_if(enqueues_, [](const auto& waiting) { return !waiting.closes; });
  status.waiting_dequeues = static_cast<std::int64_t>(dequeues_.size());
  status.enqueued = enqueued_;
  status.dequeued = dequeued_;
  status.blocked_on_full = blocked_on_full_.read(now_);
  status.blocked_on_empty = blocked_on_empty_.read(now_);
  return status;
}

}  // namespace troupe
