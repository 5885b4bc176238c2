#pragma once

#include <string>
#include <vector>

#include "troupe/actors/topology/troupe.h"
#include "troupe/messages/protocol.h"
#include "troupe/ops/graph.h"

namespace troupe {

/// The devices of a training run.
class TrainingDevices {
 public:
  /// One of somebody else's.
  explicit TrainingDevices(Device device) : devices_{std::move(device)} {}
  /// `count` CPU devices, and, where there are several, a group of all of them.
  TrainingDevices(Troupe& troupe, ThreadBudget threads, int count, int replicas);

  /// Where a replica runs a graph: on all devices together when the graph asks for devices
  /// and there are several, else on one.
  const Device& of_replica(int replica, const Graph& graph) const;

 private:
  std::vector<Device> devices_;
  Device group_;
};

/// Throws as place() does when the graph asks for devices that are not there; of one device
/// nobody asks.
void check_placement(const Graph& graph, int devices);

/// "devices: 2, ...\n" for people; nothing for one.
std::string describe_devices(const Graph& graph, int devices);

}  // namespace troupe
