#pragma once

#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/random.h"
#include "troupe/queues/element_store.h"

namespace troupe {

/// Gives out a random one of the elements inside, all equally likely.
class RandomShuffleStore : public ElementStore {
 public:
  RandomShuffleStore(std::int64_t floor, std::uint64_t seed) : floor_(floor), random_(seed) {}

  void put(Element element) override { elements_.push_back(std::move(element)); }
  Element take() override {
    auto& chosen = elements_[random_.below(elements_.size())];
    std::swap(chosen, elements_.back());
    auto element = std::move(elements_.back());
    elements_.pop_back();
    return element;
  }
  void put_back(std::vector<Element> taken) override {
    for (auto& element : taken) elements_.push_back(std::move(element));
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(elements_.size()); }
  std::int64_t floor() const override { return floor_; }

  StoreState save() const override {
    return {elements_, {static_cast<std::int64_t>(random_.position())}};
  }
  void restore(StoreState state) override {
    if (state.numbers.size() != 1)
      fail(Code::invalid_argument, "a shuffle has one position in its random numbers, not ",
           state.numbers.size());
    elements_ = std::move(state.elements);
    random_.seek(static_cast<std::uint64_t>(state.numbers[0]));
  }

  /// Where the choice of the next element is in its sequence of random numbers.
  std::uint64_t position() const { return random_.position(); }
  void seek(std::uint64_t position) { random_.seek(position); }

 private:
  std::vector<Element> elements_;
  std::int64_t floor_;
  RandomStream random_;
};

}  // namespace troupe
