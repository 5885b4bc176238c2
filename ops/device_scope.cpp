#include "troupe/ops/device_scope.h"

#include <utility>

#include "troupe/ops/device_spec.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

DeviceFunction always(std::string_view device) {
  return [name = to_string(DeviceSpec::parse(device))](const Node&) { return name; };
}

DeviceFunction or_none(DeviceFunction device_of) {
  if (device_of) return device_of;
  return [](const Node&) { return std::string(); };
}

}  // namespace

DeviceScope::DeviceScope(Graph& graph, std::string_view device)
    : DeviceScope(graph, always(device)) {}
DeviceScope::DeviceScope(Graph& graph, DeviceFunction device_of) : graph_(graph) {
  graph.devices_.push_back(or_none(std::move(device_of)));
}
DeviceScope::~DeviceScope() { graph_.devices_.pop_back(); }

ColocationScope::ColocationScope(Graph& graph, const Node& beside) : graph_(graph) {
  if (beside.graph != &graph)
    fail(Code::invalid_argument, "cannot colocate nodes with '", beside.name,
         "': it belongs to another graph");
  outer_ = std::exchange(graph.devices_, {});
  graph.colocated_.push_back(&beside);
}
ColocationScope::~ColocationScope() {
  graph_.colocated_.pop_back();
  graph_.devices_ = std::move(outer_);
}

}  // namespace troupe
