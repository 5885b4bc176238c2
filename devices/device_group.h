#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/devices/partition.h"
#include "troupe/devices/placer.h"
#include "troupe/messages/protocol.h"

namespace troupe {

struct DeviceGroupOptions {
  struct Member {
    std::string name;  ///< as place() takes it
    Device device;
  };
  std::vector<Member> members;
  PlacementOptions placement;
};

class DeviceGroupState {
 public:
  static constexpr const char* name = "troupe.device_group";

  explicit DeviceGroupState(Device::pointer self) : self_(self) {}
  ~DeviceGroupState();

  void start(DeviceGroupOptions options) { options_ = std::move(options); }
  caf::result<FragmentId> load(const FragmentSpec& spec);
  caf::result<RunResult> run(FragmentId id, std::uint64_t seed, TensorList& feeds, OutputSink sink,
                             std::uint64_t tag);
  void unload(FragmentId id);
  caf::result<DeviceStatus> status();

 private:
  /// How a fragment is run: by a device alone, or as several parts.
  struct Plan {
    Device alone;
    FragmentId id = 0;  ///< on that device
    OutputList fed;     ///< what follows is for parts
    Partition partition;
    std::vector<Part> parts;
    std::uint64_t steps = 0;
    GraphPtr graph;
  };
  using PlanPtr = std::shared_ptr<Plan>;
  struct Run {
    PlanPtr plan;
    std::uint64_t step = 0;
    caf::typed_response_promise<RunResult> promise;
    RunResult result;
    std::size_t missing = 0;
  };

  const Placement& placement_of(const GraphPtr& graph);
  caf::result<FragmentId> load_alone(const FragmentSpec& spec, const Device& device);
  caf::result<FragmentId> load_parts(PlanPtr plan);
  void answer_from(std::uint64_t run, std::size_t part, RunResult& result);
  void fail(std::uint64_t run, caf::error& why);
  static void end(const Plan& plan);

  Device::pointer self_;
  DeviceGroupOptions options_;
  std::vector<std::pair<std::weak_ptr<Graph>, Placement>> placements_;
  std::map<FragmentId, PlanPtr> plans_;
  FragmentId last_id_ = 0;
  std::map<std::uint64_t, Run> runs_;
  std::uint64_t last_run_ = 0;
};

/// Several devices as one: places the graph of a fragment on them, cuts the fragment by
/// device and runs the parts together. Parts send each other what they need as soon as
/// it is there; a fragment that is on one device entirely is passed on to that.
///
/// Answers load with place()'s errors. When a part of a run fails, the others give that
/// run up, and the first failure is the answer; what else is running goes on.
Device::behavior_type device_group(Device::stateful_pointer<DeviceGroupState> self,
                                   DeviceGroupOptions options);

}  // namespace troupe
