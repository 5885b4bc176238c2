#include "troupe/actors/training/training_devices.h"

#include <algorithm>
#include <map>

#include "troupe/devices/cpu_device.h"
#include "troupe/devices/device_group.h"
#include "troupe/devices/placer.h"
#include "troupe/ops/device_spec.h"

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

TrainingDevices TrainingDevices::beginning_with(int first) const {
  auto devices = *this;
  devices.first_ = static_cast<std::size_t>(first);
  return devices;
}

TrainingDevices TrainingDevices::only(const std::string& name) const {
  TrainingDevices devices;
  devices.devices_ = {devices_[device_called(name, static_cast<int>(devices_.size()))]};
  return devices;
}

const Device& TrainingDevices::of_replica(int replica, const Graph& graph) const {
  if (group_ && asks_for_devices(graph)) return group_;
  return devices_[(first_ + static_cast<std::size_t>(replica)) % devices_.size()];
}

std::size_t device_called(const std::string& name, int devices) {
  const auto wanted = DeviceSpec::parse(name);
  const auto here = DeviceSpec::parse("/job:localhost/replica:0/task:0");
  const auto all = cpu_devices(devices);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (matches(wanted, merged(here, DeviceSpec::parse(all[i])))) return i;
  fail(Code::invalid_argument, "there is no device '", name, "', but ",
       devices == 1 ? all[0] : text(all.front(), " to ", all.back()),
       ": ask for one of them (TrainingOptions::device), or for more (devices, --devices)");
}

void check_placement(const Graph& graph, int devices) {
  if (devices == 1 || !asks_for_devices(graph)) return;
  try {
    (void)place(graph, cpu_devices(devices));
  } catch (const Error& error) {
    throw Error(error.code(), text(error.what(), " (there are ", devices,
                                   " CPU devices: TrainingOptions::devices, or those of the "
                                   "ensemble, --devices)"));
  }
}

std::string describe_devices(const Graph& graph, int devices, const std::string& device) {
  if (!device.empty())
    return text("devices: CPU:", device_called(device, devices), " of ", devices, "\n");
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
