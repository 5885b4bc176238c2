#include "troupe/queues/barrier_core.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/messages/deadline.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {

BarrierCore::BarrierCore(BarrierOptions options, Now now)
    : options_(std::move(options)),
      title_("Barrier '" + options_.name + "'"),
      now_(std::move(now)) {
  if (options_.components.empty())
    fail(Code::invalid_argument, title_,
         ": an element has at least one component "
         "(BarrierOptions::components)");
  for (std::size_t c = 0; c < options_.components.size(); ++c)
    if (const auto& spec = options_.components[c].spec;
        !spec.shape.known() || spec.shape.rank() == Shape::kMaxRank)
      fail(Code::invalid_argument, title_, ": ", component_name(options_.components[c], c), " is ",
           spec, ", but its shape must be known and have fewer than ", Shape::kMaxRank, " axes");
  if (options_.capacity < 1 && options_.capacity != BarrierOptions::kUnbounded)
    fail(Code::invalid_argument, title_, ": capacity is ", options_.capacity,
         ", but a barrier holds at least 1 key (BarrierOptions::kUnbounded for no limit)");
}

// ---- insert ----------------------------------------------------------------------------------

void BarrierCore::insert(const BarrierInsert& insert) {
  check(insert);
  check_keys(insert);
  const auto before = next_order_;
  for (std::size_t row = 0; row < insert.keys.size(); ++row) add(insert, row);
  next_insert_ += next_order_ > before;
  flush();
}

void BarrierCore::check(const BarrierInsert& insert) const {
  const auto width = static_cast<std::int64_t>(options_.components.size());
  if (insert.component < 0 || insert.component >= width)
    fail(Code::invalid_argument, title_, ": there is no component ", insert.component,
         "; elements have ", width, ", counted from 0");
  const auto c = static_cast<std::size_t>(insert.component);
  const auto& wanted = options_.components[c];
  const auto rows = static_cast<std::int64_t>(insert.keys.size());
  const TensorSpec needed{wanted.spec.dtype, wanted.spec.shape.with_first(rows)};
  if (insert.values.dtype() != needed.dtype || !(insert.values.shape() == needed.shape))
    fail(Code::invalid_argument, title_, ": the values of ", component_name(wanted, c), " for ",
         rows, " keys are ", insert.values.dtype(), ' ', insert.values.shape(), ", but must be ",
         needed);
}

void BarrierCore::check_keys(const BarrierInsert& insert) const {
  const auto c = static_cast<std::size_t>(insert.component);
  std::set<std::string_view> keys;
  std::int64_t added = 0;
  for (const auto& key : insert.keys) {
    const auto known = incomplete_.find(key);
    const bool is_new = known == incomplete_.end();
    if (closed_ && (cancelled_ || is_new))
      fail(Code::cancelled, title_, " is closed",
           cancelled_ ? "" : text(", and '", key, "' is new"), ": ", reason_.message);
    if (!keys.insert(key).second || (!is_new && known->second.present[c]))
      fail(Code::invalid_argument, title_, ": key '", key, "' already has a value for ",
           component_name(options_.components[c], c));
    added += is_new;
  }
  const auto inside = static_cast<std::int64_t>(incomplete_.size() + ready_.size());
  if (options_.capacity != BarrierOptions::kUnbounded && inside + added > options_.capacity)
    fail(Code::resource_exhausted, title_, ": ", added, " new keys would make ", inside + added,
         ", but at most ", options_.capacity,
         " may be inside (BarrierOptions::capacity); take some first");
}

void BarrierCore::add(const BarrierInsert& insert, std::size_t row) {
  const auto width = options_.components.size();
  const auto c = static_cast<std::size_t>(insert.component);
  const auto i = static_cast<std::int64_t>(row);
  const auto [place, is_new] = incomplete_.try_emplace(insert.keys[row]);
  auto& element = place->second;
  if (is_new)
    element = {next_order_++, next_insert_, Element(width), std::vector<bool>(width), width};
  // A copy: a key that is never completed would keep the values of all others.
  element.components[c] =
      insert.values.slice(i, i + 1).reshape(options_.components[c].spec.shape).clone();
  element.present[c] = true;
  if (--element.missing > 0) return;
  ready_.emplace(element.order,
                 Complete{place->first, element.insert, std::move(element.components)});
  incomplete_.erase(place);
}

// ---- take and close --------------------------------------------------------------------------

void BarrierCore::take(const DequeueRequest& request, caf::actor_addr client, TakeDone done) {
  if (request.count < 0)
    return done(
        fault(Code::invalid_argument, title_, ": a take asked for ", request.count, " elements"));
  if (request.count == 0) return done(take_out(0));
  takes_.push_back(
      {request, std::move(client), deadline_after(now_(), request.timeout), std::move(done)});
  flush();
}

void BarrierCore::close(const CloseRequest& request) {
  if (!closed_ || (request.reason.failed() && !reason_.failed())) reason_ = request.reason;
  closed_ = true;
  if (request.cancel_pending) {
    cancelled_ = true;
    incomplete_.clear();
  }
  flush();
}

void BarrierCore::flush() {
  while (!takes_.empty()) {
    auto& head = takes_.front();
    const auto wanted = static_cast<std::size_t>(head.request.count);
    const auto possible = ready_.size() + incomplete_.size();
    if (ready_.size() >= wanted)
      head.done(take_out(wanted));
    else if (closed_ && head.request.up_to && !ready_.empty())
      head.done(take_out(ready_.size()));
    else if (closed_ && possible < (head.request.up_to ? 1 : wanted))
      head.done(insufficient(head.request.count));
    else
      return;
    takes_.pop_front();
  }
}

BarrierBatch BarrierCore::take_out(std::size_t count) {
  BarrierBatch batch;
  if (count == 0) {
    for (const auto& component : options_.components)
      batch.components.emplace_back(component.spec.dtype, component.spec.shape.with_first(0));
    return batch;
  }
  std::vector<Element> elements;
  const auto end = std::next(ready_.begin(), static_cast<std::ptrdiff_t>(count));
  for (auto i = ready_.begin(); i != end; ++i) {
    batch.keys.push_back(std::move(i->second.key));
    batch.indices.push_back(i->second.insert);
    elements.push_back(std::move(i->second.components));
  }
  ready_.erase(ready_.begin(), end);
  batch.components = stack_elements(elements);
  return batch;
}

caf::error BarrierCore::insufficient(std::int64_t requested) const {
  const auto words = text(title_, " is closed and has insufficient elements (requested ", requested,
                          ", complete ", ready_.size(), ", incomplete ", incomplete_.size(), ")");
  if (reason_.failed()) return fault(reason_.code, text(reason_.message, "; therefore ", words));
  return fault(Code::out_of_range, text(words, ": ", reason_.message));
}

// ---- waiting ---------------------------------------------------------------------------------

void BarrierCore::lost(const caf::actor_addr& client) {
  std::erase_if(takes_, [&](const auto& waiting) { return waiting.client == client; });
  flush();
}

void BarrierCore::expire() {
  const auto due = [now = now_()](const auto& waiting) {
    return waiting.deadline && *waiting.deadline <= now;
  };
  for (auto& waiting : takes_)
    if (due(waiting))
      waiting.done(fault(Code::deadline_exceeded, title_, ": ", ready_.size(), " of ",
                         waiting.request.count, " elements were complete within ",
                         waiting.request.timeout.count(), " ms, and ", incomplete_.size(),
                         " were not"));
  std::erase_if(takes_, due);
  flush();
}

std::optional<BarrierCore::TimePoint> BarrierCore::next_deadline() const {
  std::optional<TimePoint> next;
  for (const auto& waiting : takes_)
    if (waiting.deadline && (!next || *waiting.deadline < *next)) next = waiting.deadline;
  return next;
}

void BarrierCore::end() {
  for (auto& waiting : std::exchange(takes_, {}))
    waiting.done(fault(Code::cancelled, title_, " has been stopped"));
}

BarrierStatus BarrierCore::status() const {
  BarrierStatus status;
  status.name = options_.name;
  status.ready = static_cast<std::int64_t>(ready_.size());
  status.incomplete = static_cast<std::int64_t>(incomplete_.size());
  status.closed = closed_;
  if (closed_) status.reason = reason_;
  return status;
}

}  // namespace troupe
