#include "troupe/actors/session.h"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <cstdio>
#include <mutex>
#include <optional>

#include "troupe/devices/cpu_device.h"
#include "troupe/devices/device_group.h"
#include "troupe/devices/subgraph.h"
#include "troupe/messages/fault.h"
#include "troupe/ops/device_spec.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"
#include "troupe/ops/random.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

constexpr std::size_t kMostPlans = 64;

/// Actors and devices that only this session uses.
class OwnDevices {
 public:
  explicit OwnDevices(const SessionOptions& options) : config_(options.threads), system_(config_) {
    const auto count = static_cast<int>(options.devices.size());
    auto budget = options.threads.resolved();
    if (options.threads.intra_op == 0) budget.intra_op = std::max(1, budget.intra_op / count);
    DeviceGroupOptions group;
    group.placement.soft = options.soft_placement;
    for (const auto& name : options.devices) {
      if (DeviceSpec::parse(name).type != "CPU")
        fail(Code::unimplemented, "a session can make CPU devices only, but was asked for ", name);
      const CpuDeviceOptions device{name, budget.intra_op, budget.inter_op};
      group.members.push_back({name, system_.spawn(cpu_device, device)});
      members_.push_back(group.members.back().device);
    }
    group_ = system_.spawn(device_group, std::move(group));
  }
  ~OwnDevices() {
    caf::anon_send_exit(group_, caf::exit_reason::user_shutdown);
    for (const auto& device : members_)
      caf::anon_send_exit(device, caf::exit_reason::user_shutdown);
  }

  caf::actor_system& system() { return system_; }
  const Device& device() const { return group_; }

 private:
  SystemConfig config_;
  caf::actor_system system_;
  std::vector<Device> members_;
  Device group_;
};

/// How one combination of feeds, fetches and targets is run.
struct Plan {
  Plan(Device on, FragmentId fragment) : device(std::move(on)), id(fragment) {}
  ~Plan() { caf::anon_send(device, unload_atom_v, id); }
  Plan(const Plan&) = delete;

  const Device device;
  const FragmentId id;
  std::vector<std::string> reads;    ///< variables, fed behind what the user feeds
  std::vector<std::string> assigns;  ///< variables, fetched behind what the user fetches
};

using PlanKey = std::vector<std::pair<int, int>>;  // nodes and outputs

PlanKey key_of(const OutputList& fetches, const OutputList& feeds, const OutputList& targets) {
  PlanKey key;
  for (const auto* outputs : {&fetches, &feeds, &targets}) {
    key.emplace_back(-1, static_cast<int>(outputs->size()));
    for (const auto& output : *outputs) key.emplace_back(output.node().id, output.index());
  }
  return key;
}

std::vector<std::string> names_of(const OutputList& outputs) {
  std::vector<std::string> names;
  for (const auto& output : outputs) names.push_back(output.name());
  return names;
}

/// Devices may be reading a graph that is finished.
void finish(Graph& graph) {
  if (!graph.finished()) graph.finish();
}

}  // namespace

struct Session::State {
  State(GraphPtr of, const SessionOptions& with) : graph(std::move(of)), options(with) {
    if (!graph) fail(Code::invalid_argument, "a session needs a graph");
  }

  template <class Answer, class... Words>
  Answer ask(const Words&... words) const {
    caf::scoped_actor self{*system};
    std::optional<Answer> answer;
    std::optional<Error> error;
    const auto timeout =
        options.timeout == kForever ? caf::duration(caf::infinite) : caf::duration(options.timeout);
    self->request(device, timeout, words...)
        .receive([&](Answer& got) { answer = std::move(got); },
                 [&](const caf::error& fault) { error = explain(fault); });
    if (error) throw Error(*error);
    return std::move(*answer);
  }

  Error explain(const caf::error& fault) const {
    const auto error = to_error(fault);
    if (fault == caf::sec::request_timeout)
      return {Code::deadline_exceeded,
              text("session: the device has not answered within ", options.timeout.count(),
                   " ms (SessionOptions::timeout)")};
    if (error.code() == Code::unavailable)
      return {Code::unavailable, text("session: the device is gone: ", error.what())};
    return error;
  }

  std::shared_ptr<const Plan> plan_for(const OutputList& fetches, const OutputList& feeds,
                                       const OutputList& targets);
  std::shared_ptr<const Plan> make_plan(const OutputList& fetches, const OutputList& feeds,
                                        const OutputList& targets);
  const Placement& place();
  void read(const std::vector<std::string>& names, TensorList& into) const;
  Variable find_variable(const std::string& name) const;
  void expect_fit(const std::string& name, const Tensor& value) const;

  const GraphPtr graph;
  const SessionOptions options;
  std::optional<OwnDevices> own;
  caf::actor_system* system = nullptr;
  Device device;

  std::mutex turn;  // to assign

  mutable std::mutex mutex;  // for what follows
  std::map<std::string, Tensor> values;
  std::map<PlanKey, std::shared_ptr<const Plan>> plans;
  std::optional<Placement> placement;
  bool logged = false;
  std::uint64_t runs = 0;
};

std::shared_ptr<const Plan> Session::State::plan_for(const OutputList& fetches,
                                                     const OutputList& feeds,
                                                     const OutputList& targets) {
  auto key = key_of(fetches, feeds, targets);
  {
    const std::lock_guard guard(mutex);
    finish(*graph);
    if (const auto known = plans.find(key); known != plans.end()) return known->second;
    if (options.log_device_placement && own && !std::exchange(logged, true))
      std::fputs(describe(place(), *graph).c_str(), stderr);
  }
  auto plan = make_plan(fetches, feeds, targets);
  const std::lock_guard guard(mutex);
  if (plans.size() >= kMostPlans) plans.clear();  // unloads those that nobody is running
  return plans.emplace(std::move(key), std::move(plan)).first->second;
}

/// With the mutex held.
const Placement& Session::State::place() {
  if (!own)
    fail(Code::failed_precondition,
         "the session runs on a device of somebody else's, which alone "
         "knows where nodes are");
  if (!placement)
    placement = troupe::place(*graph, options.devices, {.soft = options.soft_placement});
  return *placement;
}

std::shared_ptr<const Plan> Session::State::make_plan(const OutputList& fetches,
                                                      const OutputList& feeds,
                                                      const OutputList& targets) {
  std::vector<Node*> target_nodes;
  for (const auto& target : targets) target_nodes.push_back(&target.node());
  FragmentSpec spec{graph, names_of(feeds), names_of(fetches), {}, names_of(targets)};
  std::vector<std::string> reads, assigns;
  std::map<std::string, std::string> assigned_by;
  for (const auto& needed : needed_nodes(*graph, feeds, fetches, target_nodes)) {
    auto& node = *needed.node;
    if (node.op->name == "placeholder") throw not_fed(needed);
    if (node.op->name == "variable") {
      reads.push_back(node.name);
      spec.feeds.push_back(node.name);
    }
    if (is_assignment(node)) {
      const auto& name = node.inputs[0].node().name;
      const auto [other, first] = assigned_by.emplace(name, node.name);
      if (!first)
        fail(Code::invalid_argument, "variable '", name, "' is assigned twice in one run, by '",
             other->second, "' and by '", node.name, "'; run one of them at a time");
      assigns.push_back(name);
      spec.fetches.push_back(node.name);
    }
  }
  auto plan = std::make_shared<Plan>(device, ask<FragmentId>(load_atom_v, spec));
  plan->reads = std::move(reads);
  plan->assigns = std::move(assigns);
  return plan;
}

void Session::State::read(const std::vector<std::string>& names, TensorList& into) const {
  const std::lock_guard guard(mutex);
  for (const auto& name : names) {
    const auto found = values.find(name);
    if (found == values.end())
      fail(Code::failed_precondition, "variable '", name,
           "' is not initialized; call Session::initialize()");
    into.push_back(found->second);
  }
}

Variable Session::State::find_variable(const std::string& name) const {
  auto* node = graph->find(name);
  if (node == nullptr || node->op->name != "variable")
    fail(Code::not_found, "the graph has no variable '", name, "'");
  return {node};
}

void Session::State::expect_fit(const std::string& name, const Tensor& value) const {
  const auto spec = find_variable(name).spec();
  const TensorSpec got{value.dtype(), value.shape()};
  if (!(got == spec))
    fail(Code::invalid_argument, "variable '", name, "' is ", spec, ", but the value is ", got);
}

Session::Session(GraphPtr graph, const SessionOptions& options)
    : state_(std::make_unique<State>(std::move(graph), options)) {
  if (options.devices.empty()) fail(Code::invalid_argument, "a session needs at least 1 device");
  state_->own.emplace(state_->options);
  state_->system = &state_->own->system();
  state_->device = state_->own->device();
}

Session::Session(GraphPtr graph, caf::actor_system& system, Device device,
                 const SessionOptions& options)
    : state_(std::make_unique<State>(std::move(graph), options)) {
  state_->system = &system;
  state_->device = std::move(device);
}

Session::~Session() = default;

TensorList Session::run(const OutputList& fetches, const std::vector<Feed>& feeds,
                        const OutputList& targets) {
  auto& s = *state_;
  OutputList fed;
  TensorList inputs;
  for (const auto& [output, tensor] : feeds) {
    fed.push_back(output);
    inputs.push_back(tensor);
  }
  for (const auto* outputs : {&fetches, &std::as_const(fed), &targets})
    for (const auto& output : *outputs)
      if (&output.graph() != s.graph.get())
        fail(Code::invalid_argument, "'", output.name(), "' belongs to another graph");

  const auto plan = s.plan_for(fetches, fed, targets);
  std::unique_lock<std::mutex> turn;
  if (!plan->assigns.empty()) turn = std::unique_lock(s.turn);
  s.read(plan->reads, inputs);
  std::uint64_t seed = 0;
  {
    const std::lock_guard guard(s.mutex);
    seed = mix(s.options.seed ^ mix(s.runs++));
  }
  auto results = s.ask<RunResult>(run_atom_v, plan->id, seed, inputs).fetches;
  const std::lock_guard guard(s.mutex);
  for (std::size_t i = 0; i < plan->assigns.size(); ++i)
    s.values[plan->assigns[i]] = std::move(results[fetches.size() + i]);
  results.resize(fetches.size());
  return results;
}

Tensor Session::run(const Output& fetch, const std::vector<Feed>& feeds) {
  return run(OutputList{fetch}, feeds)[0];
}

TensorList Session::run(const std::vector<std::string>& fetches,
                        const std::map<std::string, Tensor>& feeds,
                        const std::vector<std::string>& targets) {
  auto& graph = *state_->graph;
  const auto find = [&](const std::vector<std::string>& names) {
    OutputList outputs;
    for (const auto& name : names) outputs.push_back(find_output(graph, name));
    return outputs;
  };
  std::vector<Feed> fed;
  for (const auto& [name, tensor] : feeds) fed.emplace_back(find_output(graph, name), tensor);
  return run(find(fetches), fed, find(targets));
}

const Placement& Session::placement() const {
  const std::lock_guard guard(state_->mutex);
  finish(*state_->graph);
  return state_->place();
}

void Session::initialize() {
  std::map<std::string, Tensor> initial;
  for (const auto& variable : state_->graph->variables())
    initial[variable.name()] = initial_value(variable, state_->options.seed);
  const std::scoped_lock guard(state_->turn, state_->mutex);
  state_->values = std::move(initial);
}

Tensor Session::variable(const std::string& name) const {
  state_->find_variable(name);
  TensorList value;
  state_->read({name}, value);
  return value[0];
}

std::map<std::string, Tensor> Session::variables() const {
  const std::lock_guard guard(state_->mutex);
  return state_->values;
}

void Session::set_variable(const std::string& name, const Tensor& value) {
  state_->expect_fit(name, value);
  const std::scoped_lock guard(state_->turn, state_->mutex);
  state_->values[name] = value;
}

void Session::restore(const std::map<std::string, Tensor>& values) {
  std::map<std::string, Tensor> restored;
  for (const auto& variable : state_->graph->variables()) {
    const auto found = values.find(variable.name());
    if (found == values.end())
      fail(Code::not_found, "there is no value for variable '", variable.name(), "' (",
           variable.spec(), ")");
    state_->expect_fit(variable.name(), found->second);
    restored.insert(*found);
  }
  const std::scoped_lock guard(state_->turn, state_->mutex);
  state_->values = std::move(restored);
}

}  // namespace troupe
