#include "troupe/devices/placer.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <tuple>

#include "troupe/devices/colocation.h"
#include "troupe/devices/lowering.h"
#include "troupe/ops/device_spec.h"
#include "troupe/ops/device_types.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

// As much as Grappler's pin_to_host_optimizer takes for small.
constexpr std::int64_t kFew = 64;

DeviceSpec full_name(const std::string& name) {
  const auto local = DeviceSpec::parse("/job:localhost/replica:0/task:0");
  const auto device = merged(local, DeviceSpec::parse(name));
  if (!device.type || !device.index)
    fail(Code::invalid_argument,
         "a device to run on needs a type and a number, as in "
         "/device:CPU:0, but is called '",
         name, "'");
  return device;
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += text(all.empty() ? "" : ", ", name);
  return all;
}

bool is_generator(const Node& node) {
  return node.inputs.empty() && node.outputs.size() == 1 && node.op->name != "variable";
}

bool reads_metadata(const Node& node) {
  if (node.inputs.empty()) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (!reads_only_shape(node, i)) return false;
  return std::ranges::none_of(node.outputs, [](const auto& o) { return is_floating(o.dtype); });
}

bool is_small_change(const TensorSpec& spec) {
  const bool countable = spec.dtype == DType::boolean || spec.dtype == DType::string ||
                         spec.dtype == DType::int32 || spec.dtype == DType::int64;
  return countable && spec.shape.known() && spec.shape.volume() <= kFew;
}

bool is_host_work(const Node& node) {
  return !node.outputs.empty() && std::ranges::all_of(node.outputs, is_small_change) &&
         std::ranges::all_of(node.inputs,
                             [](const auto& in) { return is_small_change(in.spec()); });
}

class Placer {
 public:
  Placer(const Graph& graph, const std::vector<std::string>& devices,
         const PlacementOptions& options)
      : graph_(graph),
        devices_(full_names(devices)),
        soft_(options.soft),
        groups_(graph, types(), options.soft),
        candidates_(graph.nodes().size()),
        placed_(graph.nodes().size(), 0),
        consumers_(graph.nodes().size()) {
    for (const auto& device : devices_) placement_.devices.push_back(to_string(device));
    placement_.choices.resize(graph.nodes().size());
    for (const auto& node : graph.nodes()) {
      for (const auto& input : node.inputs) consumers_[input.node().id].push_back(&node);
      for (const auto* before : node.control_inputs) consumers_[before->id].push_back(&node);
    }
  }

  Placement run() {
    for (const auto& node : graph_.nodes())
      if (!waits_for_consumers(node)) choose(node);
    for (const auto& node : graph_.nodes())
      if (waits_for_consumers(node)) choose_by_consumers(node);
    return std::move(placement_);
  }

 private:
  static std::vector<DeviceSpec> full_names(const std::vector<std::string>& names) {
    if (names.empty()) fail(Code::invalid_argument, "a graph needs at least 1 device to run on");
    std::vector<DeviceSpec> devices;
    for (const auto& name : names) {
      devices.push_back(full_name(name));
      if (std::ranges::count(devices, devices.back()) > 1)
        fail(Code::invalid_argument, "two devices are called ", devices.back());
    }
    return devices;
  }

  std::vector<std::string> types() const {
    std::vector<std::string> all;
    for (const auto& device : devices_)
      if (std::ranges::find(all, *device.type) == all.end()) all.push_back(*device.type);
    return all;
  }

  bool is_alone(const Node& node) const { return groups_.group(node).size == 1; }
  bool waits_for_consumers(const Node& node) const { return is_generator(node) && is_alone(node); }

  bool is_local(const DeviceSpec& device) const {
    const auto& home = devices_[0];
    return device.job == home.job && device.replica == home.replica && device.task == home.task;
  }

  /// Devices that match and can run the group, the best first.
  std::vector<std::size_t> suitable(const DeviceSpec& wanted,
                                    const ColocationGroups::Group& group) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (matches(wanted, devices_[i]) &&
          std::ranges::find(group.types, *devices_[i].type) != group.types.end())
        found.push_back(i);
    const auto rank = [&](std::size_t i) {
      return std::tuple(-device_priority(*devices_[i].type), !is_local(devices_[i]),
                        devices_[i].job, devices_[i].replica, devices_[i].task, devices_[i].type,
                        devices_[i].index);
    };
    std::ranges::sort(found, [&](auto a, auto b) { return rank(a) < rank(b); });
    return found;
  }

  /// Of the node's group.
  const std::vector<std::size_t>& candidates(const Node& node) {
    auto& found = candidates_[groups_.root(node)];
    if (!found.empty()) return found;
    const auto& group = groups_.group(node);
    found = suitable(group.requested, group);
    if (found.empty() && soft_) {
      auto wanted = group.requested;
      wanted.type = std::nullopt;
      wanted.index = std::nullopt;
      found = suitable(wanted, group);
    }
    if (found.empty()) refuse(node, group);
    return found;
  }

  [[noreturn]] void refuse(const Node& node, const ColocationGroups::Group& group) const {
    const auto& asking = group.asked_by ? *group.asked_by : node;
    const auto any = [&](const DeviceSpec& wanted) {
      return std::ranges::any_of(devices_, [&](const auto& d) { return matches(wanted, d); });
    };
    const auto own = DeviceSpec::parse(asking.device);
    std::string why;
    if (!group.asked_by)
      why = text("no device has a kernel for ", asking.op->name, "; available devices are [ ",
                 joined(placement_.devices), " ].");
    else if (!any(own))
      why = text("'", asking.name, "' was explicitly assigned to ", asking.device,
                 " but available devices are [ ", joined(placement_.devices),
                 " ]. Make sure the device specification refers to a valid device.");
    else if (!any(group.requested))
      why = text("Could not satisfy explicit device specification '", asking.device,
                 "' because the node was colocated with a group of nodes that required "
                 "incompatible device '",
                 group.requested, "'");
    else
      why = text("Could not satisfy explicit device specification '", asking.device,
                 "' because no supported kernel for ", group.requested.type.value_or("its kind of"),
                 " devices is available (", asking.op->name, ").");
    fail(Code::invalid_argument, "Cannot assign a device for operation ", asking.name, ": ", why);
  }

  void put(const Node& node, std::size_t device, std::string why) {
    placed_[node.id] = 1;
    placement_.choices[node.id] = {device, why + groups_.passed_over(node)};
  }

  void choose(const Node& node) {
    const auto& possible = candidates(node);
    if (is_alone(node)) {
      if (reads_metadata(node)) {
        const auto& input = node.inputs[0].node();
        if (placed_[input.id] && std::ranges::count(possible, placement_.device_of(input)) > 0)
          return put(node, placement_.device_of(input),
                     text("reads the shape of '", input.name, "'"));
      }
      if (groups_.group(node).requested.empty() && is_host_work(node)) {
        const auto cpu = std::ranges::find_if(
            possible, [&](auto device) { return devices_[device].type == "CPU"; });
        if (cpu != possible.end() && *cpu != possible[0])
          return put(node, *cpu, "a few integers, which are quicker on a CPU");
      }
    }
    put(node, possible[0], reason(node));
  }

  void choose_by_consumers(const Node& node) {
    const auto& consumers = consumers_[node.id];
    const auto& possible = candidates(node);
    if (!consumers.empty()) {
      const auto device = placement_.device_of(*consumers[0]);
      const bool together = std::ranges::all_of(consumers, [&](const Node* consumer) {
        return placement_.device_of(*consumer) == device;
      });
      if (together && possible.size() > 1 && std::ranges::count(possible, device) > 0)
        return put(node, device, text("next to '", consumers[0]->name, "', which reads it"));
    }
    put(node, possible[0], reason(node));
  }

  /// Why the first candidate.
  std::string reason(const Node& node) const {
    const auto& group = groups_.group(node);
    const auto device = candidates_[groups_.root(node)][0];
    std::string why;
    const bool got_it = !node.device.empty() && node.colocated_with.empty() &&
                        matches(DeviceSpec::parse(node.device), devices_[device]);
    if (got_it || group.asked_by == &node)
      why = text("asked for ", node.device);
    else if (group.asked_by != nullptr)
      why = text("with '", group.asked_by->name, "', which asked for ", group.asked_by->device);
    else if (group.size > 1 && groups_.root(node) != node.id)
      why = text("with '", graph_.nodes()[groups_.root(node)].name, "'");
    else
      why = text("no wish; the first ", *devices_[device].type);
    if (!matches(group.requested, devices_[device])) why += "; soft placement: there is none";
    return why;
  }

  const Graph& graph_;
  const std::vector<DeviceSpec> devices_;
  const bool soft_;
  const ColocationGroups groups_;
  std::vector<std::vector<std::size_t>> candidates_;  // by root
  std::vector<char> placed_;
  std::vector<std::vector<const Node*>> consumers_;  // by node
  Placement placement_;
};

}  // namespace

Placement place(const Graph& graph, const std::vector<std::string>& devices,
                const PlacementOptions& options) {
  return Placer(graph, devices, options).run();
}

std::string describe(const Placement& placement, const Graph& graph, bool with_reasons) {
  std::ostringstream out;
  for (const auto& node : graph.nodes()) {
    out << node.name << ": (" << node.op->name << "): " << placement.name_of(node);
    if (with_reasons) out << "  # " << placement.choices[node.id].why;
    out << '\n';
  }
  return std::move(out).str();
}

std::vector<std::string> cpu_devices(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(text("/device:CPU:", i));
  return names;
}

}  // namespace troupe
