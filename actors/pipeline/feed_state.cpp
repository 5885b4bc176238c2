#include "troupe/actors/pipeline/feed_state.h"

#include <algorithm>
#include <caf/atom.hpp>
#include <caf/send.hpp>
#include <chrono>
#include <utility>

#include "troupe/actors/pipeline/description.h"
#include "troupe/messages/deadline.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {

FeedState::FeedState(std::vector<QueueComponent> components, FeedOptions options)
    : components_(std::move(components)), options_(std::move(options)) {
  if (options_.capacity < 1 || options_.capacity_bytes < 1)
    fail(Code::invalid_argument, title(), " holds at least 1 element and 1 byte, not ",
         options_.capacity, " and ", options_.capacity_bytes, " (FeedOptions)");
  if (components_.empty()) fail(Code::invalid_argument, title(), ": elements without components");
}

// ---- those who push --------------------------------------------------------------------------

void FeedState::check(const Element& element) const {
  if (element.size() != components_.size())
    fail(Code::invalid_argument, title(), ": an element has ", components_.size(),
         " components, but one with ", element.size(), " was pushed");
  for (std::size_t c = 0; c < element.size(); ++c) {
    const auto& [name, spec] = components_[c];
    if (element[c].dtype() != spec.dtype || !compatible(element[c].shape(), spec.shape))
      fail(Code::invalid_argument, title(), ": component ", c,
           name.empty() ? "" : " '" + name + "'", " of an element is ", spec, ", but ",
           element[c].dtype(), ' ', element[c].shape(), " was pushed");
  }
  if (const auto bytes = byte_size(element); bytes > options_.capacity_bytes)
    fail(Code::resource_exhausted, title(), ": an element of ", bytes,
         " bytes was pushed, but the feed holds ", options_.capacity_bytes,
         " (FeedOptions::capacity_bytes)");
}

void FeedState::refuse() const {
  // Whatever ended the pipeline: an actor that goes down with it may be told of its
  // neighbour's end before its own.
  if (!closed_) fail(Code::cancelled, title(), " is not read any more: ", ended_->what());
  if (closed_->failed())
    fail(Code::failed_precondition, title(), " has failed: ", closed_->message);
  fail(Code::failed_precondition, title(), " was closed: nothing can be pushed any more");
}

bool FeedState::fits(std::uint64_t bytes) const {
  return size_ < options_.capacity && bytes_ + bytes <= options_.capacity_bytes;
}

void FeedState::push(Element element, Timeout timeout) {
  check(element);
  const auto bytes = byte_size(element);
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return closed_ || ended_ || fits(bytes); };
  const auto until = deadline_after(std::chrono::steady_clock::now(), timeout);
  if (!until)
    room_.wait(lock, ready);
  else if (!room_.wait_until(lock, *until, ready))
    fail(Code::deadline_exceeded, title(), ": ", size_, " elements have waited for ",
         timeout.count(), " ms, ",
         bound_ ? "and the pipeline takes none"
                : "but no pipeline that reads from it has been started");
  if (closed_ || ended_) refuse();
  waiting_.push_back(std::move(element));
  ++size_;
  bytes_ += bytes;
  wake();
}

void FeedState::push_rows(const TensorList& columns, Timeout timeout) {
  if (columns.size() != components_.size())
    fail(Code::invalid_argument, title(), ": an element has ", components_.size(),
         " components, but rows of ", columns.size(), " tensors were pushed");
  const auto rows = columns[0].shape().rank() == 0 ? -1 : columns[0].shape()[0];
  for (const auto& column : columns)
    if (column.shape().rank() == 0 || column.shape()[0] != rows)
      fail(Code::invalid_argument, title(), ": rows were pushed of tensors of shapes ",
           columns[0].shape(), " and ", column.shape(), ", which need the same first extent");
  for (std::int64_t i = 0; i < rows; ++i) {
    Element element;
    for (const auto& column : columns)
      element.push_back(column.slice(i, i + 1).reshape(column.shape().without_first()).clone());
    try {
      push(std::move(element), timeout);
    } catch (const Error& error) {
      throw error.within(text("row ", i, " of ", rows));
    }
  }
}

void FeedState::close(const CloseReason& reason) {
  const std::lock_guard guard(mutex_);
  if (closed_) return;
  closed_ = reason;
  if (reason.failed()) waiting_.clear();
  wake();
  room_.notify_all();
}

void FeedState::abandon() {
  const std::lock_guard guard(mutex_);
  if (closed_) return;
  closed_ =
      CloseReason{Code::cancelled, title() + " was dropped by whoever filled it, and never closed"};
  wake();
}

// ---- the actor that takes --------------------------------------------------------------------

/// The lock is held: an actor that ends takes its handle away under it.
void FeedState::wake() {
  if (asleep_ && actor_) caf::anon_send(actor_, caf::tick_atom_v);
  asleep_ = false;
}

void FeedState::bind(caf::actor actor) {
  const std::lock_guard guard(mutex_);
  if (std::exchange(bound_, true))
    fail(Code::failed_precondition, title(),
         " feeds another pipeline, or has: each run needs a feed of its own");
  actor_ = std::move(actor);
}

FeedState::Taken FeedState::take(std::size_t most) {
  const std::lock_guard guard(mutex_);
  const auto count = std::min(most, waiting_.size());
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  Taken taken;
  taken.elements.assign(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  for (const auto& element : taken.elements) taken.bytes += byte_size(element);
  if (waiting_.empty()) taken.end = closed_;
  asleep_ = count == 0 && !taken.end;
  return taken;
}

void FeedState::passed_on(std::size_t elements, std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  size_ -= static_cast<std::int64_t>(elements);
  bytes_ -= bytes;
  room_.notify_all();
}

void FeedState::end(const Error& error) {
  caf::actor gone;
  std::vector<Element> dropped;
  {
    const std::lock_guard guard(mutex_);
    if (!ended_) ended_ = error;
    gone = std::move(actor_);
    actor_ = nullptr;
    dropped.swap(waiting_);
    room_.notify_all();
  }
}

// ---- the handle ------------------------------------------------------------------------------

Feed::Feed(std::vector<QueueComponent> components, FeedOptions options) {
  const auto owner = std::make_shared<FeedState>(std::move(components), std::move(options));
  state_ = std::shared_ptr<FeedState>(owner.get(), [owner](FeedState* f) { f->abandon(); });
}

FeedState& Feed::state() const {
  if (!state_) troupe::fail(Code::failed_precondition, "a feed is used that was moved from");
  return *state_;
}

void Feed::push(Element element, Timeout timeout) { state().push(std::move(element), timeout); }

void Feed::push_rows(const TensorList& columns, Timeout timeout) {
  state().push_rows(columns, timeout);
}

Examples Feed::examples() const {
  const auto feed = state().shared_from_this();
  auto d = std::make_shared<Examples::Description>();
  d->branches.emplace_back(feed);
  for (const auto& component : feed->components()) d->components.push_back(component.spec);
  return Examples(std::move(d));
}

void Feed::close() { state().close({}); }

void Feed::fail(const Error& error) {
  // The end of the data is what close() says.
  const auto code = error.code() == Code::out_of_range || error.code() == Code::ok ? Code::data_loss
                                                                                   : error.code();
  state().close({code, error.what()});
}

}  // namespace troupe
