#pragma once

#include <deque>
#include <iterator>

#include "troupe/queues/element_store.h"

namespace troupe {

/// First in, first out.
class FifoStore : public ElementStore {
 public:
  void put(Element element) override { elements_.push_back(std::move(element)); }
  Element take() override {
    auto first = std::move(elements_.front());
    elements_.pop_front();
    return first;
  }
  void put_back(std::vector<Element> taken) override {
    for (auto i = taken.rbegin(); i != taken.rend(); ++i) elements_.push_front(std::move(*i));
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(elements_.size()); }
  StoreState save() const override { return {{elements_.begin(), elements_.end()}, {}}; }
  void restore(StoreState state) override {
    elements_.assign(std::move_iterator(state.elements.begin()),
                     std::move_iterator(state.elements.end()));
  }
  const Element* at(std::int64_t index) const override {
    return &elements_[static_cast<std::size_t>(index)];
  }

 private:
  std::deque<Element> elements_;
};

}  // namespace troupe
