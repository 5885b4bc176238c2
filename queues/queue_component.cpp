#include "troupe/queues/queue_component.h"

#include "troupe/ops/error.h"

namespace troupe {

std::string component_name(const QueueComponent& component, std::size_t index) {
  return component.name.empty() ? text("component ", index)
                                : text("component ", index, " '", component.name, "'");
}

std::string describe_components(const std::vector<QueueComponent>& components) {
  auto words = text(components.size(), ":");
  for (std::size_t c = 0; c < components.size(); ++c) {
    if (c > 0) words += ',';
    if (const auto& name = components[c].name; !name.empty()) words += text(" '", name, "'");
    words += text(' ', components[c].spec);
  }
  return words;
}

}  // namespace troupe
