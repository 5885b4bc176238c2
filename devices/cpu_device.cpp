#include "troupe/devices/cpu_device.h"

#include <caf/actor_cast.hpp>

#include "troupe/messages/answer.h"
#include "troupe/messages/system_config.h"

namespace troupe {
namespace {

// A run that took no longer than this last time is not worth the hop to a runner.
constexpr std::chrono::microseconds kQuick{20};

/// "/device:CPU:0" is short enough as troupe-cpu0.
std::string thread_name(const std::string& device) {
  const auto colon = device.rfind(':');
  return "troupe-cpu" + (colon == std::string::npos ? "" : device.substr(colon + 1));
}

}  // namespace

CpuDeviceState::~CpuDeviceState() {
  for (auto& [promise, job] : waiting_)
    promise.deliver(fault(Code::unavailable, device_, ": stopped before the run could begin"));
}

void CpuDeviceState::start(const CpuDeviceOptions& options) {
  const auto threads = ThreadBudget{options.inter_op, options.intra_op}.resolved();
  device_ = options.name;
  width_ = {.intra_op = threads.intra_op, .inter_op = threads.inter_op};
  pool_ = std::make_shared<IntraOpPool>(thread_name(device_), threads.intra_op);
  const caf::weak_actor_ptr me(self_->ctrl());
  for (int i = 0; i < threads.inter_op; ++i) idle_.push_back(self_->spawn<caf::linked>(runner, me));
}

FragmentId CpuDeviceState::load(const FragmentSpec& spec) {
  auto fragment = std::make_shared<Fragment>(spec, width_, pool_, device_);
  fragments_[++last_id_] = std::move(fragment);
  return last_id_;
}

caf::result<RunResult> CpuDeviceState::run(FragmentId id, std::uint64_t seed, TensorList& feeds,
                                           RunSink to) {
  const auto found = fragments_.find(id);
  if (found == fragments_.end())
    return fault(Code::invalid_argument, device_, ": no fragment ", id, " is loaded");
  ++runs_;
  RunJob job{found->second, seed, std::move(feeds), std::move(to)};
  if (idle_.empty()) {
    waiting_.push_back({self_->make_response_promise<RunResult>(), std::move(job)});
    return waiting_.back().promise;
  }
  if (auto executor = job.fragment->acquire_quick(job.feeds, kQuick))
    return run_here(job, std::move(executor));
  const auto next = std::move(idle_.back());
  idle_.pop_back();
  return self_->delegate(next, std::move(job));
}

caf::result<RunResult> CpuDeviceState::run_here(const RunJob& job,
                                                std::shared_ptr<Executor> executor) {
  const auto stream = [&](std::uint32_t index, const Tensor& value) {
    if (job.to.actor) self_->send(job.to.actor, output_atom_v, job.to.tag, index, value);
  };
  auto result = answer([&] {
    auto done = run_alone(job, *executor, stream);
    busy_ += done.busy;
    return done;
  });
  job.fragment->release(std::move(executor));
  return result;
}

void CpuDeviceState::unload(FragmentId id) {
  if (fragments_.erase(id) == 0)
    fail(Code::invalid_argument, device_, ": no fragment ", id, " is loaded");
}

void CpuDeviceState::free_runner(std::chrono::nanoseconds busy) {
  busy_ += busy;
  auto free = caf::actor_cast<Runner>(self_->current_sender());
  if (waiting_.empty()) return idle_.push_back(std::move(free));
  auto [promise, job] = std::move(waiting_.front());
  waiting_.pop_front();
  promise.delegate(free, std::move(job));
}

void CpuDeviceState::call_for_help(const HelpCall& call) {
  if (idle_.empty()) return;
  const auto helper = std::move(idle_.back());
  idle_.pop_back();
  self_->send(helper, call);
}

DeviceStatus CpuDeviceState::status() const {
  DeviceStatus status;
  status.name = device_;
  status.intra_op = width_.intra_op;
  status.inter_op = width_.inter_op;
  status.runs = runs_;
  status.busy = busy_;
  status.fragments = fragments_.size();
  for (const auto& [id, fragment] : fragments_) status.arena_bytes += fragment->arena_bytes();
  return status;
}

CpuDevice::behavior_type cpu_device(CpuDevice::stateful_pointer<CpuDeviceState> self,
                                    CpuDeviceOptions options) {
  self->state.start(options);
  return {
      [self](load_atom, const FragmentSpec& spec) {
        return answer([&] { return self->state.load(spec); });
      },
      [self](run_atom, FragmentId id, std::uint64_t seed, TensorList& feeds) {
        return self->state.run(id, seed, feeds, {});
      },
      [self](run_atom, FragmentId id, std::uint64_t seed, TensorList& feeds, OutputSink& sink,
             std::uint64_t tag) {
        return self->state.run(id, seed, feeds, {std::move(sink), tag});
      },
      [self](unload_atom, FragmentId id) {
        return answer([&] {
          self->state.unload(id);
          return caf::ok_atom_v;
        });
      },
      [self](status_atom) { return self->state.status(); },
      [self](next_atom, std::chrono::nanoseconds busy) { self->state.free_runner(busy); },
      [self](const HelpCall& call) { self->state.call_for_help(call); },
  };
}

}  // namespace troupe
