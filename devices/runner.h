#pragma once

#include <caf/expected.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>

#include "troupe/devices/run_job.h"

namespace troupe {

/// Runs fragments for a device, one at a time, on whichever thread CAF gives it.
///   (job)       -> result
///   (call)         helps with a run that another runner leads, or with its own
///                  when there is more to do after all
///   (end, run)     helpers have ended the run that it leads
/// Whenever it has done something it asks its device for more: (next, time in kernels).
using Runner = caf::typed_actor<caf::replies_to<RunJob>::with<RunResult>, caf::reacts_to<HelpCall>,
                                caf::reacts_to<end_atom, std::uint64_t>>;

class RunnerState {
 public:
  static constexpr const char* name = "troupe.runner";

  explicit RunnerState(Runner::pointer self) : self_(self) {}
  ~RunnerState();

  /// Whom to ask for more. Not kept alive: the device keeps its runners alive.
  void serve(caf::weak_actor_ptr device) { device_ = std::move(device); }

  caf::result<RunResult> run(RunJob& job);
  void help(const HelpCall& call);
  void ended(std::uint64_t run);

 private:
  bool work(const HelpCall& call);
  caf::expected<RunResult> conclude();
  void ask_for_more(std::chrono::nanoseconds busy);

  Runner::pointer self_;
  caf::weak_actor_ptr device_;
  RunJob job_;
  HelpCall led_;                                    ///< how others may help with the job
  caf::typed_response_promise<RunResult> promise_;  ///< pending while helpers are to end the job
};

Runner::behavior_type runner(Runner::stateful_pointer<RunnerState> self,
                             caf::weak_actor_ptr device);

/// Runs a job on the calling thread, to the end. Throws the Error of a step that fails.
RunResult run_alone(const RunJob& job, Executor& executor,
                    FunctionRef<void(std::uint32_t, const Tensor&)> stream);

}  // namespace troupe
