#pragma once

#include <memory>
#include <string>

#include "troupe/queues/element_store.h"

namespace troupe {

/// What makes one kind of queue different from the others.
struct QueueKind {
  std::string name;  ///< for messages: "FIFOQueue"
  std::unique_ptr<ElementStore> store;
  /// Without QueueOptions::components: whether elements need only the dtypes and ranks of
  /// the first one, and not its extents.
  bool any_extents = false;
};

}  // namespace troupe
