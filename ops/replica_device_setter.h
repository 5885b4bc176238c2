#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

/// Which task, from 0, a variable goes to. Called once for each variable that is made.
using TaskStrategy = std::function<int(const Node&)>;

/// In the order of creation, as TensorFlow's replica_device_setter does.
TaskStrategy round_robin(int tasks);
/// Each to the task that has the least so far, the first of several.
TaskStrategy least_loaded(int tasks, std::function<double(const Node&)> load);
/// By a hash of name and seed: independent of the order, the same on every machine.
TaskStrategy by_name(int tasks, std::uint64_t seed = 0);

/// Bytes of a node's first output: a load for least_loaded(). Throws invalid_argument
/// while its shape is not known.
double bytes_of(const Node& node);

struct ReplicaDeviceSetterOptions {
  int ps_tasks = 0;                           ///< tasks that hold variables
  std::string ps_device = "/job:ps";          ///< what variables ask for, with their task
  std::string worker_device = "/job:worker";  ///< what everything else asks for
  bool merge_devices = true;  ///< add to what scopes inside ask for; false leaves those alone
  std::vector<std::string> ps_ops{"variable"};  ///< what goes to ps_device
  TaskStrategy strategy{};  ///< by bytes, the least loaded, when it is not given
};

/// A device function for training by several workers that share variables: variables go
/// to the tasks of one job, everything else to the worker.
///
///   const DeviceScope scope(graph, replica_device_setter({.ps_tasks = 2}));
///
/// A variable that asks for another job by itself is given no task. Empty, and so without
/// any effect, for no ps_tasks.
DeviceFunction replica_device_setter(const ReplicaDeviceSetterOptions& options);

}  // namespace troupe
