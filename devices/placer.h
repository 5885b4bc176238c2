#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

struct PlacementOptions {
  /// Where no device suits what is asked for, take another one of the same job and task,
  /// and let colocation go that cannot be met; otherwise that is an error.
  bool soft = false;
};

/// Where each node of a graph runs, and why.
struct Placement {
  struct Choice {
    std::size_t device = 0;  ///< position in `devices`
    std::string why;         ///< "asked for /device:CPU:1"
  };
  std::vector<std::string> devices;  ///< full names
  std::vector<Choice> choices;       ///< by node

  std::size_t device_of(const Node& node) const { return choices.at(node.id).device; }
  const std::string& name_of(const Node& node) const { return devices[device_of(node)]; }
};

/// Places all nodes of a graph by TensorFlow's rules. Nodes that must share a device form
/// groups; a group goes to one of the devices that match all that its members ask for
/// and have kernels for all of them: the one with the highest device_priority(), of
/// these the first that is local (on the task of devices[0]), of these the first by name.
/// There are three exceptions, for nodes that are in no group:
///
///   - a node without inputs and with one output goes where its consumers are, if they
///     are together (variables do not);
///   - a node that reads only shapes and gives integers goes where its input is;
///   - a node that takes and gives a few integers, bools or strings goes to a CPU.
///
/// `devices` are names with type and index: "/device:CPU:0", "/job:ps/task:1/gpu:0"; what
/// is left out is /job:localhost/replica:0/task:0. Throws invalid_argument in TensorFlow's
/// words, "Cannot assign a device for operation X: ..." and "Cannot colocate nodes ...".
Placement place(const Graph& graph, const std::vector<std::string>& devices,
                const PlacementOptions& options = {});

/// "w: (variable): /job:localhost/replica:0/task:0/device:CPU:0", a line for each node,
/// with the reason behind it if wanted.
std::string describe(const Placement& placement, const Graph& graph, bool with_reasons = false);

/// "/device:CPU:0", "/device:CPU:1", ...
std::vector<std::string> cpu_devices(int count);

}  // namespace troupe
