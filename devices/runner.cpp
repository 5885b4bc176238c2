#include "troupe/devices/runner.h"

#include <caf/actor_cast.hpp>

#include "troupe/devices/cpu_device.h"
#include "troupe/messages/answer.h"

namespace troupe {

RunnerState::~RunnerState() {
  if (promise_.pending())
    promise_.deliver(fault(Code::unavailable, "the device stopped while a run was going on"));
}

caf::result<RunResult> RunnerState::run(RunJob& job) {
  job_ = std::move(job);
  try {
    led_.executor = job_.fragment->acquire(job_.feeds);
    led_.run = led_.executor->begin(job_.feeds, job_.seed);
  } catch (...) {
    const auto why = current_fault();
    if (led_.executor) job_.fragment->release(std::move(led_.executor));
    job_ = {};
    ask_for_more({});
    return why;
  }
  led_.to = job_.to;
  led_.leader = caf::strong_actor_ptr(self_->ctrl());
  if (work(led_)) {
    auto result = conclude();
    if (result) return std::move(*result);
    return std::move(result.error());
  }
  promise_ = self_->make_response_promise<RunResult>();
  return promise_;
}

void RunnerState::help(const HelpCall& call) {
  const bool leads = call.leader == self_->ctrl();
  const bool ended = work(call);
  if (!leads) {
    if (ended) self_->send(caf::actor_cast<Runner>(call.leader), end_atom_v, call.run);
    ask_for_more({});
  } else if (ended) {
    this->ended(call.run);
  }
}

void RunnerState::ended(std::uint64_t run) {
  if (!promise_.pending() || run != led_.run) return;
  auto promise = std::move(promise_);
  promise_ = {};
  auto result = conclude();
  if (result)
    promise.deliver(std::move(*result));
  else
    promise.deliver(std::move(result.error()));
}

/// True when the run has ended.
bool RunnerState::work(const HelpCall& call) {
  const auto stream = [&](std::uint32_t index, const Tensor& value) {
    if (call.to.actor) self_->send(call.to.actor, output_atom_v, call.to.tag, index, value);
  };
  const auto invite = [&] {
    if (call.executor->call_leader_back())
      self_->send(caf::actor_cast<Runner>(call.leader), call);
    else if (const auto device = caf::actor_cast<CpuDevice>(device_))
      self_->send(device, call);
  };
  const Executor::Hooks hooks{stream, invite};
  if (call.leader == self_->ctrl() && !promise_.pending()) return call.executor->lead(hooks);
  return call.executor->help(call.run, call.leader == self_->ctrl(), hooks);
}

caf::expected<RunResult> RunnerState::conclude() {
  caf::expected<RunResult> result{RunResult{}};
  try {
    result->busy = led_.executor->finish(result->fetches);
  } catch (...) {
    result = current_fault();
  }
  job_.fragment->release(std::move(led_.executor));
  led_ = {};
  job_ = {};
  ask_for_more(result ? result->busy : std::chrono::nanoseconds{});
  return result;
}

void RunnerState::ask_for_more(std::chrono::nanoseconds busy) {
  if (const auto device = caf::actor_cast<CpuDevice>(device_))
    self_->send(device, next_atom_v, busy);
}

Runner::behavior_type runner(Runner::stateful_pointer<RunnerState> self,
                             caf::weak_actor_ptr device) {
  self->state.serve(std::move(device));
  return {
      [self](RunJob& job) { return self->state.run(job); },
      [self](const HelpCall& call) { self->state.help(call); },
      [self](end_atom, std::uint64_t run) { self->state.ended(run); },
  };
}

RunResult run_alone(const RunJob& job, Executor& executor,
                    FunctionRef<void(std::uint32_t, const Tensor&)> stream) {
  const auto nobody = [] {};
  RunResult result;
  executor.begin(job.feeds, job.seed);
  executor.lead({stream, nobody});
  result.busy = executor.finish(result.fetches);
  return result;
}

}  // namespace troupe
