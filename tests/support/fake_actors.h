#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/messages/fault.h"
#include "troupe/messages/protocol.h"

namespace troupe::test {

/// A batch source that gives each batch of the list once, to whoever asks, then ends.
inline BatchSource::behavior_type listed_batches(BatchSource::pointer, std::vector<Batch> batches,
                                                 caf::error end) {
  const auto next = std::make_shared<std::size_t>(0);
  return {
      [=](next_atom, std::uint32_t) -> caf::result<Batch> {
        if (*next == batches.size()) return end;
        return batches[(*next)++];
      },
      [](assign_atom, bool) {},
      [](status_atom) { return StageStatus{}; },
  };
}

/// What a fake device does with the feeds of a run.
struct FakeRun {
  TensorList fetches;
  TensorList streamed;
  caf::error fault;
};
using FakeKernel = std::function<FakeRun(const TensorList& feeds)>;

/// A device that calls a function instead of running a graph. With `late` the
/// streamed outputs arrive after the result, as they may from a parallel device.
inline Device::behavior_type fake_device(Device::pointer self, FakeKernel kernel, bool late) {
  const auto stream = [self](const FakeRun& run, const OutputSink& sink, std::uint64_t tag) {
    for (std::uint32_t i = 0; i < run.streamed.size(); ++i)
      self->send(sink, output_atom_v, tag, i, run.streamed[i]);
  };
  return {
      [](load_atom, const FragmentSpec&) { return FragmentId{1}; },
      [=](run_atom, FragmentId, std::uint64_t, const TensorList& feeds) -> caf::result<RunResult> {
        auto run = kernel(feeds);
        if (run.fault) return run.fault;
        return RunResult{run.fetches, {}};
      },
      [=](run_atom, FragmentId, std::uint64_t, const TensorList& feeds, const OutputSink& sink,
          std::uint64_t tag) -> caf::result<RunResult> {
        auto run = kernel(feeds);
        if (run.fault) return run.fault;
        if (!late) {
          stream(run, sink, tag);
          return RunResult{run.fetches, {}};
        }
        auto promise = self->make_response_promise<RunResult>();
        promise.deliver(RunResult{run.fetches, {}});
        stream(run, sink, tag);
        return promise;
      },
      [](unload_atom, FragmentId) { return caf::ok_atom_v; },
      [](status_atom) { return DeviceStatus{}; },
  };
}

/// Keeps all reports.
struct Reports {
  std::vector<StepReport> steps;
  std::vector<SavedCheckpoint> checkpoints;
  std::vector<TrainingEvent> events;
};
inline TrainingListener::behavior_type report_keeper(TrainingListener::pointer,
                                                     std::shared_ptr<Reports> reports) {
  return {
      [=](report_atom, const StepReport& report) { reports->steps.push_back(report); },
      [=](report_atom, const SavedCheckpoint& saved) { reports->checkpoints.push_back(saved); },
      [=](report_atom, const TrainingEvent& event) { reports->events.push_back(event); },
  };
}

}  // namespace troupe::test
