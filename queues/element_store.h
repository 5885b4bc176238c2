#pragma once

#include <cstdint>
#include <vector>

#include "troupe/messages/payloads.h"

namespace troupe {

/// Where a queue keeps its elements, and the rule for which one leaves next.
/// Everything else about a queue (who waits, closing, time) is QueueCore's.
class ElementStore {
 public:
  virtual ~ElementStore() = default;

  virtual void put(Element element) = 0;

  /// Removes the element whose turn it is. Needs size() > 0.
  virtual Element take() = 0;

  /// Undoes the last calls of take(): `taken` is what they gave, in their order.
  virtual void put_back(std::vector<Element> taken) = 0;

  virtual std::int64_t size() const = 0;

  /// Elements that stay behind as long as more may come.
  virtual std::int64_t floor() const { return 0; }
};

}  // namespace troupe
