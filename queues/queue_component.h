#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

/// One component of a queue's elements.
struct QueueComponent {
  std::string name;  ///< for messages; may be empty
  TensorSpec spec;   ///< an extent of -1 may differ from element to element
};

/// "component 1 'label'", for messages.
std::string component_name(const QueueComponent& component, std::size_t index);

/// "2: 'image' float32 [2], 'label' int64 []", for messages.
std::string describe_components(const std::vector<QueueComponent>& components);

}  // namespace troupe
