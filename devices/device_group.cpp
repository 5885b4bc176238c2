#include "troupe/devices/device_group.h"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include "troupe/devices/part.h"
#include "troupe/messages/answer.h"

namespace troupe {

DeviceGroupState::~DeviceGroupState() {
  for (auto& [number, run] : runs_)
    run.promise.deliver(fault(Code::unavailable, "the devices stopped while a run was going on"));
  for (const auto& [id, plan] : plans_) end(*plan);
}

/// Parts know each other, so that none ends by itself.
void DeviceGroupState::end(const Plan& plan) {
  if (plan.alone) caf::anon_send(plan.alone, unload_atom_v, plan.id);
  for (const auto& part : plan.parts) caf::anon_send_exit(part, caf::exit_reason::user_shutdown);
}

const Placement& DeviceGroupState::placement_of(const GraphPtr& graph) {
  std::erase_if(placements_, [](const auto& known) { return known.first.expired(); });
  for (const auto& [known, placement] : placements_)
    if (known.lock() == graph) return placement;
  std::vector<std::string> names;
  for (const auto& member : options_.members) names.push_back(member.name);
  return placements_.emplace_back(graph, place(*graph, names, options_.placement)).second;
}

caf::result<FragmentId> DeviceGroupState::load(const FragmentSpec& spec) {
  try {
    const auto subgraph = select_subgraph(spec);
    auto plan = std::make_shared<Plan>();
    plan->partition = partition(subgraph, placement_of(spec.graph));
    const auto& parts = plan->partition.parts;
    if (parts.size() < 2)
      return load_alone(spec, options_.members[parts.empty() ? 0 : parts[0].device].device);
    plan->graph = spec.graph;
    plan->fed = subgraph.feeds;
    return load_parts(std::move(plan));
  } catch (...) {
    return current_fault();
  }
}

caf::result<FragmentId> DeviceGroupState::load_alone(const FragmentSpec& spec,
                                                     const Device& device) {
  auto promise = self_->make_response_promise<FragmentId>();
  self_->request(device, caf::infinite, load_atom_v, spec)
      .then(
          [this, promise, device](FragmentId id) mutable {
            auto& plan = plans_[++last_id_] = std::make_shared<Plan>();
            plan->alone = device;
            plan->id = id;
            promise.deliver(last_id_);
          },
          [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  return promise;
}

caf::result<FragmentId> DeviceGroupState::load_parts(PlanPtr plan) {
  std::vector<EdgeSink> sinks;
  for (auto& spec : plan->partition.parts) {
    const auto& member = options_.members[spec.device];
    plan->parts.push_back(
        self_->spawn(part, PartOptions{std::move(spec), member.device, member.name}));
    sinks.push_back(caf::actor_cast<EdgeSink>(plan->parts.back()));
  }
  const auto id = ++last_id_;
  plans_[id] = plan;  // ended with the group, also while it is being loaded
  auto promise = self_->make_response_promise<FragmentId>();
  const auto missing = std::make_shared<std::size_t>(plan->parts.size());
  for (const auto& member : plan->parts)
    self_->request(member, caf::infinite, load_atom_v, sinks)
        .then(
            [promise, missing, id](caf::ok_atom) mutable {
              if (--*missing == 0) promise.deliver(id);
            },
            [this, promise, id](caf::error& error) mutable {
              if (!promise.pending()) return;
              unload(id);
              promise.deliver(std::move(error));
            });
  return promise;
}

caf::result<RunResult> DeviceGroupState::run(FragmentId id, std::uint64_t seed, TensorList& feeds,
                                             OutputSink sink, std::uint64_t tag) {
  const auto found = plans_.find(id);
  if (found == plans_.end())
    return fault(Code::invalid_argument, "no fragment ", id, " is loaded on these devices");
  const auto& plan = found->second;
  if (plan->alone) {
    if (sink)
      return self_->delegate(plan->alone, run_atom_v, plan->id, seed, std::move(feeds),
                             std::move(sink), tag);
    return self_->delegate(plan->alone, run_atom_v, plan->id, seed, std::move(feeds));
  }
  try {
    expect_feeds(plan->fed, feeds, "the devices");
  } catch (...) {
    return current_fault();
  }
  const auto& cut = plan->partition;
  std::vector<TensorList> fed(plan->parts.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) fed[cut.feeds[i].part].push_back(feeds[i]);

  const auto number = ++last_run_;
  auto& run = runs_[number];
  run.plan = plan;
  run.step = ++plan->steps;
  run.missing = plan->parts.size();
  run.result.fetches.resize(cut.fetches.size());
  auto promise = run.promise = self_->make_response_promise<RunResult>();
  for (std::size_t i = 0; i < plan->parts.size(); ++i)
    self_
        ->request(plan->parts[i], caf::infinite, run_atom_v, run.step, seed, std::move(fed[i]),
                  sink, tag)
        .then([this, number, i](RunResult& result) { answer_from(number, i, result); },
              [this, number](caf::error& error) { fail(number, error); });
  return promise;
}

void DeviceGroupState::answer_from(std::uint64_t number, std::size_t part, RunResult& result) {
  const auto found = runs_.find(number);
  if (found == runs_.end()) return;
  auto& run = found->second;
  const auto& fetches = run.plan->partition.fetches;
  for (std::size_t i = 0; i < fetches.size(); ++i)
    if (fetches[i].part == part) run.result.fetches[i] = result.fetches[fetches[i].position];
  run.result.busy += result.busy;
  if (--run.missing > 0) return;
  auto ended = runs_.extract(found);
  ended.mapped().promise.deliver(std::move(ended.mapped().result));
}

void DeviceGroupState::fail(std::uint64_t number, caf::error& why) {
  auto ended = runs_.extract(number);
  if (ended.empty()) return;
  for (const auto& part : ended.mapped().plan->parts)
    self_->send(part, cancel_atom_v, ended.mapped().step);
  ended.mapped().promise.deliver(std::move(why));
}

void DeviceGroupState::unload(FragmentId id) {
  const auto plan = plans_.extract(id);
  if (plan.empty())
    troupe::fail(Code::invalid_argument, "no fragment ", id, " is loaded on these devices");
  end(*plan.mapped());
}

caf::result<DeviceStatus> DeviceGroupState::status() {
  struct Sum {
    DeviceStatus status;
    std::size_t missing = 0;
  };
  const auto sum = std::make_shared<Sum>();
  sum->missing = options_.members.size();
  sum->status.inter_op = 0;
  sum->status.fragments = plans_.size();
  auto promise = self_->make_response_promise<DeviceStatus>();
  for (const auto& member : options_.members) {
    sum->status.name += (sum->status.name.empty() ? "" : ", ") + member.name;
    self_->request(member.device, caf::infinite, status_atom_v)
        .then(
            [promise, sum](const DeviceStatus& part) mutable {
              auto& all = sum->status;
              all.intra_op = std::max(all.intra_op, part.intra_op);
              all.inter_op += part.inter_op;
              all.runs += part.runs;
              all.busy += part.busy;
              all.arena_bytes += part.arena_bytes;
              if (--sum->missing == 0) promise.deliver(all);
            },
            [promise](caf::error& error) mutable {
              if (promise.pending()) promise.deliver(std::move(error));
            });
  }
  return promise;
}

Device::behavior_type device_group(Device::stateful_pointer<DeviceGroupState> self,
                                   DeviceGroupOptions options) {
  self->state.start(std::move(options));
  return {
      [self](load_atom, const FragmentSpec& spec) { return self->state.load(spec); },
      [self](run_atom, FragmentId id, std::uint64_t seed, TensorList& feeds) {
        return self->state.run(id, seed, feeds, {}, 0);
      },
      [self](run_atom, FragmentId id, std::uint64_t seed, TensorList& feeds, OutputSink& sink,
             std::uint64_t tag) { return self->state.run(id, seed, feeds, std::move(sink), tag); },
      [self](unload_atom, FragmentId id) {
        return answer([&] {
          self->state.unload(id);
          return caf::ok_atom_v;
        });
      },
      [self](status_atom) { return self->state.status(); },
  };
}

}  // namespace troupe
