#pragma once

#include <cstdint>
#include <vector>

#include "troupe/messages/data_state.h"

namespace troupe {

/// Where a queue keeps its elements, and the rule for which one leaves next.
/// Everything else about a queue (who waits, closing, time) is QueueCore's.
class ElementStore {
 public:
  virtual ~ElementStore() = default;

  /// Throws invalid_argument for an element that put() could not keep, although dtypes and
  /// shapes fit; the queue puts its name and the number of the element in front.
  virtual void check(const Element&) const {}

  virtual void put(Element element) = 0;

  /// Removes the element whose turn it is. Needs size() > 0.
  virtual Element take() = 0;

  /// Undoes the last calls of take(): `taken` is what they gave, in their order.
  virtual void put_back(std::vector<Element> taken) = 0;

  virtual std::int64_t size() const = 0;

  /// Elements that stay behind as long as more may come.
  virtual std::int64_t floor() const { return 0; }

  /// Whether elements leave in groups, whatever number a dequeue asks for.
  virtual bool grouped() const { return false; }
  /// For a grouped store: how many calls of take() give the next group, 0 while no
  /// group is complete. `closed`: no more elements come.
  virtual std::int64_t next_group(bool /*closed*/) { return 0; }

  /// Whether nothing can leave before more have come in.
  virtual bool stuck() const { return size() <= floor(); }

  /// Whether a dequeue takes elements as they come. If not, it takes all of them at
  /// once, when there are enough.
  virtual bool gathers() const { return true; }

  /// Everything inside, for a checkpoint.
  virtual StoreState save() const = 0;
  /// The inverse, for a store that is empty; its elements have been checked. Throws
  /// invalid_argument for numbers that save() did not give.
  virtual void restore(StoreState state) = 0;

  /// The element that `index` others leave before, for kinds that can tell; null otherwise.
  /// Needs index < size().
  virtual const Element* at(std::int64_t /*index*/) const { return nullptr; }
};

}  // namespace troupe
