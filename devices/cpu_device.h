#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "troupe/devices/intra_op_pool.h"
#include "troupe/devices/runner.h"

namespace troupe {

struct CpuDeviceOptions {
  std::string name = "/device:CPU:0";
  int intra_op = 0;  ///< threads inside one op, the runner's included; 0 for all schedulable CPUs
  int inter_op = 0;  ///< fragments, or parts of them, that run at the same time; 0 as above
};

/// A Device, and what its own runners say to it:
///   (next, time)       a runner is free; it has spent that time in kernels
///   (call)             a run could use one more runner
using CpuDevice =
    Device::extend<caf::reacts_to<next_atom, std::chrono::nanoseconds>, caf::reacts_to<HelpCall>>;

class CpuDeviceState {
 public:
  static constexpr const char* name = "troupe.cpu_device";

  explicit CpuDeviceState(CpuDevice::pointer self) : self_(self) {}
  ~CpuDeviceState();

  void start(const CpuDeviceOptions& options);
  FragmentId load(const FragmentSpec& spec);
  caf::result<RunResult> run(FragmentId id, std::uint64_t seed, TensorList& feeds, RunSink to);
  void unload(FragmentId id);
  void free_runner(std::chrono::nanoseconds busy);
  void call_for_help(const HelpCall& call);
  DeviceStatus status() const;

 private:
  struct Waiting {
    caf::typed_response_promise<RunResult> promise;
    RunJob job;
  };

  caf::result<RunResult> run_here(const RunJob& job, std::shared_ptr<Executor> executor);

  CpuDevice::pointer self_;
  std::string device_;
  ProgramOptions width_;
  std::shared_ptr<IntraOpPool> pool_;
  std::map<FragmentId, std::shared_ptr<Fragment>> fragments_;
  FragmentId last_id_ = 0;
  std::vector<Runner> idle_;
  std::deque<Waiting> waiting_;
  std::uint64_t runs_ = 0;
  std::chrono::nanoseconds busy_{0};
};

/// Runs fragments on the CPU with its own intra-op threads, `inter_op` of them at
/// the same time on CAF's scheduler; further requests wait in the order of their
/// arrival. It answers requests with
///   invalid_argument   for an unknown fragment, or feeds that do not fit (naming
///                      the placeholder, what it got and what it takes)
///   what a kernel says, naming the node, its op and the device; the fragment
///                      stays usable
///   unavailable        to all that wait when it ends
CpuDevice::behavior_type cpu_device(CpuDevice::stateful_pointer<CpuDeviceState> self,
                                    CpuDeviceOptions options);

}  // namespace troupe
