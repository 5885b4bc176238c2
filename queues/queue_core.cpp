#include "troupe/queues/queue_core.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/messages/deadline.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {
QueueCore::QueueCore(QueueKind kind, QueueOptions options, Now now)
    : kind_(std::move(kind)),
      title_(kind_.name + " '" + options.name + "'"),
      options_(std::move(options)),
      now_(std::move(now)),
      receipts_(options_.readers) {
  check_options();
}

void QueueCore::check_options() const {
  if (options_.capacity < 1 && options_.capacity != QueueOptions::kUnbounded)
    fail(Code::invalid_argument, title_, ": capacity is ", options_.capacity,
         ", but a queue holds at least 1 element (QueueOptions::kUnbounded for no limit)");
  const auto floor = kind_.store->floor();
  if (floor < 0 || (options_.capacity != QueueOptions::kUnbounded && floor >= options_.capacity))
    fail(Code::invalid_argument, title_, ": min_after_dequeue is ", floor,
         ", but must be at least 0 and below the capacity, which is ", options_.capacity);
  if (options_.only_when_full && !kind_.store->gathers())
    fail(Code::invalid_argument, title_, " cannot give out elements only_when_full");
  const bool exact = options_.padding && !options_.padding->exact.empty();
  if (exact || !options_.components.empty()) check_padding(options_.components);
}

void QueueCore::check_padding(const std::vector<QueueComponent>& components) const {
  if (!options_.padding) return;
  try {
    troupe::check(*options_.padding, components);
  } catch (const Error& error) {
    throw error.within(title_);
  }
}

// ---- requests --------------------------------------------------------------------------------

void QueueCore::enqueue(ElementBlock block, const EnqueueOptions& options, caf::actor_addr client,
                        Done done) {
  if (block.elements.empty()) {
    // Whoever is told that it is in will not say again how many records were left out of it.
    if (!closing_ || block.reader != kNoReader) note_receipt(block);
    return done({});
  }
  if (closing_) return done(closed_fault());
  try {
    check(block.elements);
  } catch (...) {
    return done(current_fault());
  }
  note_receipt(block);
  WaitingEnqueue waiting;
  waiting.elements = std::move(block.elements);
  waiting.atomic = options.atomic;
  waiting.timeout = options.timeout;
  waiting.deadline = deadline_of(options.timeout);
  waiting.client = std::move(client);
  waiting.done = std::move(done);
  enqueues_.push_back(std::move(waiting));
  flush();
}

void QueueCore::dequeue(const DequeueRequest& request, caf::actor_addr client, TakenDone done) {
  if (auto refused = refusal(request)) return done(std::move(refused));
  if (request.count == 0) return done(ElementBlock{batches_, {}});
  WaitingDequeue waiting;
  waiting.request = request;
  waiting.client = std::move(client);
  waiting.deadline = deadline_of(request.timeout);
  waiting.done = std::move(done);
  if (!leaving_.empty() && !keeps_all()) {
    const auto most = std::min(leaving_.size(), static_cast<std::size_t>(request.count));
    const auto end = leaving_.begin() + static_cast<std::ptrdiff_t>(most);
    waiting.taken.assign(std::move_iterator(leaving_.begin()), std::move_iterator(end));
    leaving_.erase(leaving_.begin(), end);
  }
  dequeues_.push_back(std::move(waiting));
  flush();
}

void QueueCore::peek(const PeekRequest& request, caf::actor_addr client, TakenDone done) {
  if (request.index < 0 || request.index == std::numeric_limits<std::int64_t>::max())
    return done(fault(Code::invalid_argument, title_, ": a peek asked for element ", request.index,
                      ", but they are counted from 0"));
  peeks_.push_back({request, std::move(client), deadline_of(request.timeout), std::move(done)});
  flush();
}

void QueueCore::clear() {
  while (kind_.store->size() > 0) bytes_ -= byte_size(kind_.store->take());
  flush();
}

void QueueCore::close(const CloseRequest& request, Done done) {
  if (!closing_ || (request.reason.failed() && !reason_.failed())) reason_ = request.reason;
  closing_ = true;
  if (request.cancel_pending) {
    give_up_enqueues();
    done({});
  } else {
    WaitingEnqueue barrier;
    barrier.closes = true;
    barrier.timeout = request.timeout;
    barrier.deadline = deadline_of(request.timeout);
    barrier.done = std::move(done);
    enqueues_.push_back(std::move(barrier));
  }
  flush();
}

void QueueCore::give_up_enqueues() {
  closed_ = true;
  for (auto& waiting : std::exchange(enqueues_, {})) {
    given_up_.insert(given_up_.end(),
                     waiting.elements.begin() + static_cast<std::ptrdiff_t>(waiting.next),
                     waiting.elements.end());
    waiting.done(waiting.closes ? caf::error() : closed_fault());
  }
}

void QueueCore::expect(const std::string& name, const caf::actor_addr& producer) {
  if (closing_) return;
  if (!producer)
    return close({true,
                  {Code::failed_precondition,
                   text(title_, " has no producer '", name, "': it was never spawned")}},
                 [](const caf::error&) {});
  if (!producers_.contains(producer)) expected_[producer] = name;
}

void QueueCore::attach(const caf::actor_addr& producer, Done done) {
  if (!producer)
    return done(fault(Code::invalid_argument, title_, ": a producer without an address attached"));
  if (closing_) return done(closed_fault());
  expected_.erase(producer);
  if (producers_.insert(producer).second) ++attached_;
  look_for_producers();
  done({});
}

void QueueCore::detach(const caf::actor_addr& producer, const CloseReason& reason, Done done) {
  if (producers_.erase(producer) == 0) {
    if (expected_.erase(producer) == 0)
      return done(fault(Code::failed_precondition, title_,
                        ": an actor that is not attached as a producer detached"));
    ++attached_;  // it came, and had nothing
  }
  // After the close a producer may well fail: with the news that the queue is closed.
  const bool last = producers_.empty() && expected_.empty() && attached_ >= options_.producers;
  if (!closing_ && (reason.failed() || last))
    close({.cancel_pending = reason.failed(), .reason = reason}, [](const caf::error&) {});
  look_for_producers();
  done({});
}

void QueueCore::lost(const caf::actor_addr& actor, const caf::error& reason) {
  for (auto& waiting : dequeues_)
    if (waiting.client == actor) put_back(waiting);
  const auto its = [&](const auto& waiting) { return waiting.client == actor; };
  std::erase_if(dequeues_, its);
  std::erase_if(peeks_, its);
  if (producers_.erase(actor) > 0)
    give_up(text("a producer of ", title_, " ended without a word"), reason);
  if (const auto missing = expected_.find(actor); missing != expected_.end()) {
    give_up(text("producer '", missing->second, "' of ", title_, " ended before it attached"),
            reason);
    expected_.erase(missing);
  }
  flush();
}

void QueueCore::give_up(const std::string& what, const caf::error& reason) {
  if (closing_) return;
  const auto error = reason ? to_error(reason) : Error(Code::unavailable, "it quit");
  const auto code = error.code() == Code::unknown ? Code::unavailable : error.code();
  close({.cancel_pending = true, .reason = {code, text(what, ": ", error.what())}},
        [](const caf::error&) {});
}

// ---- time ------------------------------------------------------------------------------------

std::optional<QueueCore::TimePoint> QueueCore::deadline_of(Timeout timeout) const {
  return deadline_after(now_(), timeout);
}

std::optional<QueueCore::TimePoint> QueueCore::next_deadline() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](const auto& list) {
    for (const auto& waiting : list)
      if (waiting.deadline && (!next || *waiting.deadline < *next)) next = waiting.deadline;
  };
  consider(enqueues_);
  consider(dequeues_);
  consider(peeks_);
  if (abandoned_ && (!next || *abandoned_ < *next)) next = abandoned_;
  return next;
}

void QueueCore::expire() {
  const auto now = now_();
  const auto due = [now](const auto& waiting) {
    return waiting.deadline && *waiting.deadline <= now;
  };
  const auto late = [due](const auto& waiting) { return !waiting.closes && due(waiting); };
  for (auto& waiting : enqueues_)
    if (late(waiting))
      waiting.done(fault(Code::deadline_exceeded, title_, " was full for ", waiting.timeout.count(),
                         " ms: ", waiting.next, " of ", waiting.elements.size(),
                         " elements went in"));
  std::erase_if(enqueues_, late);
  const auto producers = producers_.empty() ? std::string("no producer is attached")
                                            : text("producers are attached: ", producers_.size());
  for (auto& waiting : dequeues_)
    if (due(waiting)) {
      const auto here = kind_.store->gathers() ? static_cast<std::int64_t>(waiting.taken.size())
                                               : kind_.store->size();
      waiting.done(fault(Code::deadline_exceeded, title_, ": ", here, " of ", waiting.request.count,
                         " elements came within ", waiting.request.timeout.count(), " ms; ",
                         producers));
      put_back(waiting);
    }
  std::erase_if(dequeues_, due);
  for (auto& waiting : peeks_)
    if (due(waiting))
      waiting.done(fault(Code::deadline_exceeded, title_, ": element ", waiting.request.index,
                         " was not there within ", waiting.request.timeout.count(), " ms; ",
                         producers));
  std::erase_if(peeks_, due);
  if (abandoned_ && *abandoned_ <= now) {
    const auto words = fault(Code::failed_precondition, title_, " has no producer: ", attached_,
                             " of ", options_.producers, " have ever attached, and none did for ",
                             options_.producer_patience.count(),
                             " ms: has whoever fills it been started?", names_of_expected());
    for (auto& waiting : dequeues_) {
      put_back(waiting);
      waiting.done(words);
    }
    dequeues_.clear();
  }
  flush();
  expire_closes(now);
}

void QueueCore::look_for_producers() {
  if (dequeues_.empty() || closing_ || !producers_.empty())
    abandoned_.reset();
  else if (!abandoned_)
    abandoned_ = deadline_of(options_.producer_patience);
}

std::string QueueCore::names_of_expected() const {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> names;
  for (const auto& [producer, name] : expected_) names.push_back(name);
  std::ranges::sort(names);
  std::string words;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i)
    words += text(i == 0 ? " Expected are '" : ", '", names[i], "'");
  return words + (names.size() > kMost ? ", ..." : "");
}

void QueueCore::expire_closes(TimePoint now) {
  const auto due = std::ranges::find_if(enqueues_, [now](const auto& waiting) {
    return waiting.closes && waiting.deadline && *waiting.deadline <= now;
  });
  if (due == enqueues_.end()) return;
  auto done = std::move(due->done);
  const auto late = closed_late(*due);
  enqueues_.erase(due);
  give_up_enqueues();
  done(late);
  flush();
}

void QueueCore::end() {
  const auto gone = fault(Code::cancelled, title_, " has been stopped");
  for (auto& waiting : std::exchange(enqueues_, {})) waiting.done(gone);
  for (auto& waiting : std::exchange(dequeues_, {})) waiting.done(gone);
  for (auto& waiting : std::exchange(peeks_, {})) waiting.done(gone);
}

// ---- the machine -----------------------------------------------------------------------------

void QueueCore::flush() {
  do {
    bool moved = true;
    while (moved) {
      moved = advance_enqueues();
      advance_peeks();
      moved = advance_dequeues() || moved;
    }
  } while (break_jam());
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
  const auto size = static_cast<std::uint64_t>(kind_.store->size());
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
      if (!kind_.store->stuck()) return false;
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
  kind_.store->put(std::move(element));
  ++enqueued_;
}

bool QueueCore::keeps_all() const {
  return options_.keeps_when_cancelled && closed_ && reason_.code == Code::cancelled;
}

bool QueueCore::may_take() const {
  if (keeps_all()) return false;
  if (closed_) return kind_.store->size() > 0;
  return kind_.store->size() > kind_.store->floor() && (full_ || !options_.only_when_full);
}

bool QueueCore::advance_dequeues() {
  bool moved = false;
  while (!dequeues_.empty()) {
    auto& head = dequeues_.front();
    const auto count = batch_size(head);
    const bool kept = keeps_all();
    while (!kept && head.taken.size() < count && (kind_.store->grouped() || may_take())) {
      take(head);
      full_ = false;
      moved = true;
    }
    const bool complete = head.taken.size() == count && count > 0;
    if (complete || (closed_ && !kept && head.request.up_to && !head.taken.empty())) {
      deliver(head);
    } else if (closed_) {
      put_back(head);
      head.done(insufficient(head.request.count));
    } else {
      return moved;
    }
    dequeues_.pop_front();
    moved = true;
  }
  return moved;
}

/// How many elements make the batch for this request; 0 while none may be taken for it.
std::size_t QueueCore::batch_size(const WaitingDequeue& waiting) {
  auto& store = *kind_.store;
  auto count = waiting.request.count;
  if (store.grouped())
    count = may_take() ? store.next_group(closed_) : 0;
  else if (!store.gathers() && !closed_ && store.size() < count)
    count = 0;
  return static_cast<std::size_t>(count);
}

void QueueCore::advance_peeks() {
  std::erase_if(peeks_, [this](WaitingPeek& waiting) {
    const auto index = waiting.request.index;
    if (index < kind_.store->size())
      waiting.done(
          ElementBlock{batches_ + static_cast<std::uint64_t>(index), {*kind_.store->at(index)}});
    else if (closed_)
      waiting.done(insufficient(index + 1));
    else
      return false;
    return true;
  });
}

bool QueueCore::break_jam() {
  if (kind_.store->gathers() || enqueues_.empty() || dequeues_.empty()) return false;
  auto& head = dequeues_.front();
  if (head.request.up_to) {
    while (kind_.store->size() > 0) take(head);
    deliver(head);
  } else {
    head.done(never_together(head));
  }
  dequeues_.pop_front();
  return true;
}

void QueueCore::take(WaitingDequeue& waiting) {
  waiting.taken.push_back(kind_.store->take());
  bytes_ -= byte_size(waiting.taken.back());
}

void QueueCore::put_back(WaitingDequeue& waiting) {
  if (closed_ && reason_.failed() && !receipts_.empty()) {
    // Nobody draws any more, and whoever goes on from here is to get these first.
    leaving_.insert(leaving_.end(), std::move_iterator(waiting.taken.begin()),
                    std::move_iterator(waiting.taken.end()));
    return waiting.taken.clear();
  }
  for (const auto& element : waiting.taken) bytes_ += byte_size(element);
  kind_.store->put_back(std::exchange(waiting.taken, {}));
}

void QueueCore::deliver(WaitingDequeue& waiting) {
  dequeued_ += waiting.taken.size();
  waiting.done(ElementBlock{batches_++, std::move(waiting.taken)});
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
    auto shape = component.spec.shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      shape.set(axis, std::max<std::int64_t>(0, shape[axis]));
    components.emplace_back(component.spec.dtype, shape.with_first(0));
  }
  return components;
}

QueueStatus QueueCore::status() const {
  QueueStatus status;
  status.name = options_.name;
  status.kind = kind_.name;
  status.floor = kind_.store->floor();
  status.size = kind_.store->size();
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
