#include "troupe/actors/training/training_devices.h"

#include <algorithm>
#include <map>

#include "troupe/devices/cpu_device.h"
#include "troupe/devices/device_group.h"
#include "troupe/devices/placer.h"

namespace troupe {
namespace {

bool asks_for_devices(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node& node) { return !node.device.empty(); });
}

}  // namespace

TrainingDevices::TrainingDevices(Troupe& troupe, ThreadBudget threads, int count, int replicas) {
  const auto budget = threads.resolved();
  CpuDeviceOptions o;
  o.intra_op = threads.intra_op > 0 ? threads.intra_op : std::max(1, budget.intra_op / count);
  o.inter_op = std::min(budget.inter_op, replicas + 1);
  DeviceGroupOptions group;
  for (const auto& name : cpu_devices(count)) {
    o.name = name;
    const auto title = text("device CPU:", devices_.size());
    devices_.push_back(troupe.spawn(title, cpu_device, o));
    troupe.observe(devices_.back(), Role::device);
    group.members.push_back({name, devices_.back()});
  }
  if (count > 1) group_ = troupe.spawn("device group", device_group, std::move(group));
}

const Device& TrainingDevices::of_replica(int replica, const Graph& graph) const {
  if (group_ && asks_for_devices(graph)) return group_;
  return devices_[static_cast<std::size_t>(replica) % devices_.size()];
}

void check_placement(const Graph& graph, int devices) {
  if (devices == 1 || !asks_for_devices(graph)) return;
  try {
    (void)place(graph, cpu_devices(devices));
  } catch (const Error& error) {
    throw Error(error.code(), text(error.what(), " (there are ", devices,
                                   " CPU devices: TrainingOptions::devices, --devices)"));
  }
}

std::string describe_devices(const Graph& graph, int devices) {
  if (devices == 1) return {};
  if (!asks_for_devices(graph))
    return text("devices: ", devices, ", replica i on device i modulo ", devices, "\n");
  const auto placement = place(graph, cpu_devices(devices));
  std::vector<std::size_t> nodes(placement.devices.size());
  for (const auto& choice : placement.choices) ++nodes[choice.device];
  std::string words = "devices: every replica runs on all of them together:";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    words += text(i == 0 ? " " : ", ", nodes[i], " nodes on CPU:", i);
  return words + "\n";
}

}  // namespace troupe
