#pragma once

#include <string>
#include <vector>

#include "troupe/actors/topology/troupe.h"
#include "troupe/messages/protocol.h"
#include "troupe/ops/graph.h"

namespace troupe {

/// The devices of a training run, or of several that share them.
class TrainingDevices {
 public:
  /// `count` CPU devices, and, where there are several, a group of all of them.
  TrainingDevices(Troupe& troupe, ThreadBudget threads, int count, int replicas);

  /// The same ones for a run whose replica i is on device `first` + i modulo their number.
  TrainingDevices beginning_with(int first) const;
  /// That one alone, whatever a graph asks for; `name` as device_called() takes it.
  TrainingDevices only(const std::string& name) const;

  /// Where a replica runs a graph: on all devices together when the graph asks for devices
  /// and there are several, else on one.
  const Device& of_replica(int replica, const Graph& graph) const;

 private:
  TrainingDevices() = default;
  std::vector<Device> devices_;
  Device group_;
  std::size_t first_ = 0;
};

/// The number of the first of so many CPU devices that is what the name asks for: "/cpu:1",
/// "/job:localhost/device:CPU:1". Throws invalid_argument, naming those that there are.
std::size_t device_called(const std::string& name, int devices);

/// Throws as place() does when the graph asks for devices that are not there; of one device
/// nobody asks.
void check_placement(const Graph& graph, int devices);

/// "devices: 2, ...\n" for people; nothing for one. `device` is the name of the only one that
/// is to be used, if there is to be one.
std::string describe_devices(const Graph& graph, int devices, const std::string& device = {});

}  // namespace troupe
