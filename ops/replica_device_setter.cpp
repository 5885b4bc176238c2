#include "troupe/ops/replica_device_setter.h"

#include <algorithm>
#include <memory>

#include "troupe/ops/device_spec.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

void expect_tasks(int tasks) {
  if (tasks < 1) fail(Code::invalid_argument, "variables need at least 1 task, but got ", tasks);
}

}  // namespace

TaskStrategy round_robin(int tasks) {
  expect_tasks(tasks);
  return [tasks, next = std::make_shared<int>(0)](const Node&) { return (*next)++ % tasks; };
}

TaskStrategy least_loaded(int tasks, std::function<double(const Node&)> load) {
  expect_tasks(tasks);
  const auto loads = std::make_shared<std::vector<double>>(tasks);
  return [loads, load = std::move(load)](const Node& node) {
    const auto least = std::ranges::min_element(*loads);
    *least += load(node);
    return static_cast<int>(least - loads->begin());
  };
}

TaskStrategy by_name(int tasks, std::uint64_t seed) {
  expect_tasks(tasks);
  return [tasks, seed](const Node& node) {
    return static_cast<int>(seed_for(seed, node.name) % static_cast<std::uint64_t>(tasks));
  };
}

double bytes_of(const Node& node) {
  const auto& spec = node.outputs.at(0);
  if (!spec.shape.known())
    fail(Code::invalid_argument, "node '", node.name, "' has shape ", spec.shape,
         ": its bytes are not known");
  return static_cast<double>(spec.shape.volume()) * static_cast<double>(size_of(spec.dtype));
}

DeviceFunction replica_device_setter(const ReplicaDeviceSetterOptions& options) {
  if (options.ps_tasks == 0) return {};
  const auto ps = DeviceSpec::parse(options.ps_device);
  const auto worker = DeviceSpec::parse(options.worker_device);
  const auto strategy =
      options.strategy ? options.strategy : least_loaded(options.ps_tasks, bytes_of);
  return [ps, worker, strategy, merge = options.merge_devices,
          ops = options.ps_ops](const Node& node) {
    if (!merge && !node.device.empty()) return node.device;
    if (std::ranges::find(ops, node.op->name) == ops.end()) return to_string(worker);
    auto device = ps;
    const auto job = DeviceSpec::parse(node.device).job;
    if (ps.job && (!job || job == ps.job)) device.task = strategy(node);
    return to_string(device);
  };
}

}  // namespace troupe
