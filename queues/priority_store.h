#pragma once

#include <algorithm>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/queues/element_store.h"

namespace troupe {

/// Gives out the element with the smallest priority, which is its first component;
/// among equal ones the one that came first.
class PriorityStore : public ElementStore {
 public:
  void check(const Element& element) const override {
    const auto& priority = element[0];
    if (priority.dtype() != DType::int64)
      fail(Code::invalid_argument, "expected the priority (component 0) to be int64, but received ",
           priority.dtype());
    if (priority.shape().rank() != 0)
      fail(Code::invalid_argument,
           "expected the priority (component 0) to be a scalar, but received shape ",
           priority.shape());
  }
  void put(Element element) override { add(std::move(element), next_++); }
  Element take() override {
    std::ranges::pop_heap(heap_, Later());
    auto first = std::move(heap_.back().element);
    heap_.pop_back();
    return first;
  }
  void put_back(std::vector<Element> taken) override {
    for (auto i = taken.rbegin(); i != taken.rend(); ++i) add(std::move(*i), --front_);
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(heap_.size()); }
  bool gathers() const override { return false; }
  /// In the order in which they leave.
  StoreState save() const override {
    auto sorted = heap_;
    std::ranges::sort(sorted, [](const Entry& a, const Entry& b) { return Later()(b, a); });
    StoreState state;
    for (auto& entry : sorted) state.elements.push_back(std::move(entry.element));
    return state;
  }
  void restore(StoreState state) override {
    for (auto& element : state.elements) put(std::move(element));
  }

 private:
  struct Entry {
    std::int64_t priority;
    std::int64_t order;  // among equal priorities
    Element element;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.priority != b.priority ? a.priority > b.priority : a.order > b.order;
    }
  };
  void add(Element element, std::int64_t order) {
    const auto priority = element[0].read<std::int64_t>()[0];
    heap_.push_back({priority, order, std::move(element)});
    std::ranges::push_heap(heap_, Later());
  }

  std::vector<Entry> heap_;
  std::int64_t next_ = 0;
  std::int64_t front_ = 0;  // what is put back goes before everything else of its priority
};

}  // namespace troupe
