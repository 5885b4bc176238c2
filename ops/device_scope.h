#pragma once

#include <string_view>
#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

/// While it lives, new nodes ask for a device. Scopes nest: they are asked from the
/// innermost to the outermost, and parts that are set already stay:
///
///   const DeviceScope worker(graph, "/job:worker/cpu:0");
///   const DeviceScope second(graph, "/cpu:1");   // nodes ask for /job:worker/device:CPU:1
class DeviceScope {
 public:
  /// Throws invalid_argument for what is no DeviceSpec.
  DeviceScope(Graph& graph, std::string_view device);
  /// The device may depend on the node: by_op = [](const Node& node) { ... }. An empty
  /// function has no effect. What it returns is checked when a node is added.
  DeviceScope(Graph& graph, DeviceFunction device_of);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;

 private:
  Graph& graph_;
};

/// While it lives, new nodes must be on the device of this one. They ask for the device
/// that it asks for; if it asks for none, for that of the device scopes inside this one.
/// Device scopes outside do not count.
class ColocationScope {
 public:
  ColocationScope(Graph& graph, const Node& beside);
  ~ColocationScope();
  ColocationScope(const ColocationScope&) = delete;

 private:
  Graph& graph_;
  std::vector<DeviceFunction> outer_;
};

}  // namespace troupe
