// What a queue refuses, and the words that it says so with.
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/queues/queue_core.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {

std::vector<QueueComponent> QueueCore::components_like(const Element& element) const {
  std::vector<QueueComponent> components;
  for (const auto& tensor : element) {
    auto shape = tensor.shape();
    if (kind_.any_extents)
      for (int axis = 0; axis < shape.rank(); ++axis) shape.set(axis, Shape::kUnknown);
    components.push_back({"", {tensor.dtype(), shape}});
  }
  return components;
}

void QueueCore::check(const std::vector<Element>& elements) {
  std::vector<QueueComponent> first;
  if (options_.components.empty()) check_padding(first = components_like(elements[0]));
  const auto& components = first.empty() ? options_.components : first;
  const auto width = components.size();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto& element = elements[i];
    if (element.size() != width || width == 0)
      fail(Code::invalid_argument, title_, ": element ", i, " of the block has ", element.size(),
           element.size() == 1 ? " component" : " components", ", but needs ",
           width == 0 ? "at least 1" : describe_components(components));
    for (std::size_t c = 0; c < width; ++c) check_component(element[c], i, c, components[c]);
    try {
      kind_.store->check(element);
    } catch (const Error& error) {
      throw error.within(text(title_, ": element ", i, " of the block"));
    }
    if (options_.capacity_bytes > 0 && byte_size(element) > options_.capacity_bytes)
      fail(Code::resource_exhausted, title_, ": element ", i, " of the block has ",
           byte_size(element), " bytes, but the queue holds ", options_.capacity_bytes,
           " (QueueOptions::capacity_bytes)");
  }
  if (!first.empty()) options_.components = std::move(first);
}

void QueueCore::check_component(const Tensor& tensor, std::size_t index, std::size_t component,
                                const QueueComponent& wanted) const {
  if (tensor.dtype() != wanted.spec.dtype || !compatible(tensor.shape(), wanted.spec.shape))
    fail(Code::invalid_argument, title_, ": ", component_name(wanted, component), " of element ",
         index, " of the block is ", tensor.dtype(), ' ', tensor.shape(), ", but must be ",
         wanted.spec);
  if (tensor.shape().rank() == Shape::kMaxRank)
    fail(Code::invalid_argument, title_, ": ", component_name(wanted, component), " of element ",
         index, " of the block has ", Shape::kMaxRank,
         " axes, which leaves none for the rows of a batch");
}

caf::error QueueCore::refusal(const DequeueRequest& request) const {
  const auto count = request.count;
  if (count < 0)
    return fault(Code::invalid_argument, title_, ": a dequeue asked for ", count, " elements");
  if (!kind_.store->gathers() && !closed_ && !request.up_to &&
      options_.capacity != QueueOptions::kUnbounded && count > options_.capacity)
    return fault(Code::invalid_argument, title_, ": a dequeue of ", count,
                 " elements can never be served: they must all be inside together, and the "
                 "capacity is ",
                 options_.capacity, " (QueueOptions::capacity)");
  if (options_.padding || count == 1) return {};
  for (std::size_t c = 0; c < options_.components.size(); ++c) {
    const auto& component = options_.components[c];
    if (!component.spec.shape.known())
      return fault(
          Code::invalid_argument, title_, ": a dequeue of ", count,
          " elements requires the components to have specified shapes, but ",
          component_name(component, c), " is ", component.spec,
          "; ask for one element at a time, or let them be padded (QueueOptions::padding)");
  }
  return {};
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
               " bytes): the queue holds ", kind_.store->size(), " of at most ", options_.capacity,
               " elements and ", bytes_, " of at most ", options_.capacity_bytes,
               " bytes (0: no limit), and keeps the last ", kind_.store->floor(),
               " (min_after_dequeue)");
}

caf::error QueueCore::never_together(const WaitingDequeue& waiting) const {
  return fault(Code::resource_exhausted, title_, ": a dequeue waits for ", waiting.request.count,
               " elements to be inside together, and an enqueue for room: the queue holds ",
               kind_.store->size(), " of at most ", options_.capacity, " elements and ", bytes_,
               " of at most ", options_.capacity_bytes, " bytes (0: no limit)");
}

caf::error QueueCore::closed_late(const WaitingEnqueue& close) const {
  std::int64_t requests = 0;
  std::size_t elements = 0;
  std::string actors;
  for (const auto& waiting : enqueues_) {
    if (waiting.closes) continue;
    ++requests;
    elements += waiting.elements.size() - waiting.next;
    if (waiting.client) actors += text(actors.empty() ? "" : ", ", waiting.client.id());
  }
  return fault(Code::deadline_exceeded, title_, " has been closed, but after ",
               close.timeout.count(), " ms there was no room yet for ", elements, " elements of ",
               requests, " enqueues that came before (of actors ", actors.empty() ? "?" : actors,
               "); they were given up. The queue holds ", kind_.store->size(), " of at most ",
               options_.capacity, " elements, and ", dequeues_.size(), " dequeues wait");
}

caf::error QueueCore::insufficient(std::int64_t requested) const {
  const auto words = text(title_, " is closed and has insufficient elements (requested ", requested,
                          ", current size ", kind_.store->size(), ")");
  if (reason_.failed()) return fault(reason_.code, text(reason_.message, "; therefore ", words));
  return fault(Code::out_of_range, text(words, ": ", reason_.message));
}

}  // namespace troupe
