#include "troupe/actors/topology/topology_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/parameters/group_placement.h"
#include "troupe/actors/stages/stage_program.h"
#include "troupe/actors/topology/graph_work.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/devices/placer.h"

namespace troupe {
namespace {

// What one CPU does in a second, about, until it is measured ("troupe plan --measure"): kernels
// of this library on CPUs of the last ten years, and decoders on data of this kind.
constexpr double kFlopsPerCpu = 50e9;
constexpr double kDecodedBytesPerCpu = 150e6;
constexpr double kUpdatedBytesPerCpu = 4e9;

using Plan = TopologyPlan;

std::uint64_t bytes_of(const TensorSpec& spec, std::int64_t rows = 1) {
  std::uint64_t count = 1;
  for (const auto extent : spec.shape.extents())
    count *= static_cast<std::uint64_t>(extent == Shape::kUnknown ? rows : extent);
  return count * size_of(spec.dtype);
}

bool known(const std::vector<TensorSpec>& components) {
  return std::all_of(components.begin(), components.end(), [](const TensorSpec& spec) {
    return spec.shape.known() && spec.dtype != DType::string;
  });
}

std::uint64_t example_bytes(const Batches& data) {
  std::uint64_t bytes = 0;
  for (const auto& component : data.components()) bytes += bytes_of(component);
  return bytes;
}

/// "lines of x.txt" and "3 decoders" of each way into the queue, out of Batches::describe().
struct Lane {
  std::string records;
  int decoders = 0;
};
std::vector<Lane> lanes_of(const std::string& description) {
  std::vector<Lane> lanes;
  std::size_t begin = 0;
  while (begin < description.size()) {
    const auto end = std::min(description.find('\n', begin), description.size());
    const auto line = description.substr(begin, end - begin);
    const auto decoders = line.find(" decoder");
    if (!line.starts_with("  -> ") && !line.starts_with("warning"))
      lanes.push_back({line, 0});
    else if (line.starts_with("  -> ") && decoders != std::string::npos && !lanes.empty())
      lanes.back().decoders = std::atoi(line.c_str() + 5);
    begin = end + 1;
  }
  return lanes;
}

/// Readers, decoders and queue, with `prefix` in front of their names; the last id is the queue's.
std::string add_data(Plan& plan, const Batches& data, int replicas,
                     const std::string& prefix = "") {
  const auto memory = data.memory(replicas);
  const auto lanes = lanes_of(data.describe());
  int readers = 0, decoders = 0;
  std::string files;
  for (const auto& lane : lanes) {
    ++readers;
    decoders += lane.decoders;
    files += (files.empty() ? "" : "; ") + lane.records;
  }
  const auto group = prefix.empty() ? "data" : "evaluation data";
  const auto name = [&](const std::string& kind, int count) {
    return prefix + kind + (count == 1 ? "" : "s");
  };
  plan.actors.push_back({prefix + "reader", name("reader", readers), group, readers, files,
                         memory.readers, "records read ahead and with the decoders", readers});
  plan.actors.push_back({prefix + "decoder", name("decoder", decoders), group, decoders,
                         "records to tensors", memory.decoders,
                         "elements that wait for room in the queue", 0});
  plan.actors.push_back({prefix + "queue", prefix + "queue", group, 1,
                         text("batches of ", data.rows()), memory.queue,
                         "elements, and those of the batch in the making", 0});
  plan.flows.push_back({prefix + "reader", prefix + "decoder", "records", std::nullopt, "batch"});
  plan.flows.push_back(
      {prefix + "decoder", prefix + "queue", "elements of all decoders",
       known(data.components())
           ? std::optional(example_bytes(data) * static_cast<std::uint64_t>(data.rows()))
           : std::nullopt,
       "batch"});
  return prefix + "queue";
}

std::size_t slots_of(const OptimizerConfig& optimizer) {
  return Optimizer(optimizer).slot_names().size();
}

/// The policy of each shard, by its name; those of groups of variables have one of their own.
using Policies = std::map<std::string, std::string>;

/// place_all() where groups of variables have shards of their own.
void place_all_groups(Plan& plan, const std::vector<Variable>& variables, const TrainingOptions& o,
                      Policies& policies) {
  const auto& groups = o.aggregation.groups;
  std::vector<std::string> names;
  for (const auto& variable : variables) names.push_back(variable.name());
  const auto placed = place_groups(variables, groups_of(names, groups),
                                   static_cast<std::uint32_t>(o.shards), o.placement, 0);
  for (const auto& rows : placed.rows) {
    const auto& variable = variables[rows.variable];
    const auto group = placed.group_of_shard[rows.shard];
    const auto home = text("shard ", rows.shard);
    policies[home] = group == 0 ? o.aggregation.policy : groups[group - 1].policy;
    plan.variables.push_back({variable.name(), variable.spec(), bytes_of(variable.spec()),
                              variable.trainable(), home,
                              text(group == 0 ? "it has no policy of its own"
                                              : "it is one of " + groups[group - 1].variables,
                                   ": ", policies[home])});
  }
}

/// Where the variables of a training live, as Training places them, and why.
void place_all(Plan& plan, const std::vector<Variable>& variables, const TrainingOptions& o,
               Policies& policies) {
  if (!o.aggregation.groups.empty()) return place_all_groups(plan, variables, o, policies);
  const auto shards = static_cast<std::uint32_t>(o.shards);
  const auto shard_of = place_variables(variables, shards, o.placement);
  const auto in_turn = place_variables(variables, shards, VariablePlacement::round_robin);
  std::vector<std::size_t> order(variables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto bytes = [&](std::size_t i) { return bytes_of(variables[i].spec()); };
  const auto balanced = place_variables(variables, shards, VariablePlacement::by_bytes);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bytes(a) > bytes(b); });
  std::vector<std::uint64_t> load(shards);
  std::vector<std::string> why(variables.size());
  std::size_t rank = 0;
  for (const auto i : order) {
    ++rank;
    if (shards == 1)
      why[i] = "the only shard";
    else if (shard_of == balanced)
      why[i] = rank == 1 ? text("the largest; all shards were empty")
                         : text("number ", rank, " by bytes; shard ", shard_of[i],
                                " had least: ", load[shard_of[i]], " bytes");
    else if (shard_of == in_turn)
      why[i] = text("number ", i, " in order of creation, in turn");
    else
      why[i] = "by a function of the program";
    load[shard_of[i]] += bytes(i);
  }
  for (std::size_t i = 0; i < variables.size(); ++i)
    plan.variables.push_back({variables[i].name(), variables[i].spec(), bytes(i),
                              variables[i].trainable(), text("shard ", shard_of[i]), why[i]});
}

void place_nodes(Plan& plan, const Graph& graph, const std::string& device) {
  const auto placement = place(graph, {device});
  std::map<std::pair<std::size_t, std::string>, std::size_t> found;
  for (const auto& node : graph.nodes()) {
    auto choice = placement.choices.at(static_cast<std::size_t>(node.id));
    // "with 'conv1/relu'", and so for every other node of the way back.
    if (choice.why.starts_with("with '")) choice.why = "with the node of the forward pass";
    const auto [at, added] = found.emplace(std::pair(choice.device, choice.why), plan.nodes.size());
    if (added) plan.nodes.push_back({placement.devices[choice.device], choice.why, 0, node.name});
    ++plan.nodes[at->second].count;
  }
}

/// How often the replicas push and pull.
std::string every(std::uint32_t steps) { return steps <= 1 ? "step" : text(steps, " steps"); }

void finish(Plan& plan, const ThreadBudget& threads) {
  const auto budget = threads.resolved();
  plan.inter_op = budget.inter_op;
  plan.intra_op = budget.intra_op;
  plan.cpus = schedulable_cpus();
  std::stable_sort(plan.costs.begin(), plan.costs.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
}

std::string rounded(double value, const char* unit) {
  const auto scale = value >= 1e9 ? 1e9 : value >= 1e6 ? 1e6 : value >= 1e3 ? 1e3 : 1;
  const auto* prefix = value >= 1e9 ? " G" : value >= 1e6 ? " M" : value >= 1e3 ? " k" : " ";
  return text(std::round(10 * value / scale) / 10, prefix, unit);
}

/// What a step of all replicas costs: arithmetic, decoding, updating.
void add_costs(Plan& plan, const Batches& data, double flops, double rows, double updated,
               const char* workers, int parallel) {
  const auto cpus = static_cast<double>(schedulable_cpus());
  const auto busy = std::min<double>(cpus, parallel);
  plan.costs.push_back({workers, flops / kFlopsPerCpu / busy,
                        text(rounded(flops, "flop"), " a step on ", busy, " CPUs, at ",
                             rounded(kFlopsPerCpu, "flop/s"), " each")});
  int decoders = 0;
  for (const auto& lane : lanes_of(data.describe())) decoders += lane.decoders;
  if (known(data.components()) && decoders > 0) {
    const auto bytes = rows * static_cast<double>(example_bytes(data));
    const auto many = std::min<double>(cpus, decoders);
    plan.costs.push_back({"decoders", bytes / kDecodedBytesPerCpu / many,
                          text(rounded(bytes, "byte"), " of tensors a step by ", many, " CPUs, at ",
                               rounded(kDecodedBytesPerCpu, "byte/s"), " each")});
  }
  plan.costs.push_back({"updates", updated / kUpdatedBytesPerCpu,
                        text(rounded(updated, "byte"), " of values, slots and gradients at ",
                             rounded(kUpdatedBytesPerCpu, "byte/s"))});
}

Plan plan_training(const std::string& title, const ModelFunction& function, const Batches& given,
                   const TrainingOptions& o) {
  Plan plan;
  plan.title = title;
  const auto data = o.deterministic ? given.in_order() : given;
  plan.data = data.describe();
  const auto policy = make_policy(o.aggregation.policy);
  const bool split = policy->whole_rounds() && !o.aggregation.leave_out_late &&
                     (o.replicas > 1 || o.deterministic);
  const auto rows =
      split ? (data.rows() + o.replicas - 1) / o.replicas : data.rows();  // of a replica's step
  const auto model = function(true);
  const auto variables = model.graph->variables();
  Policies policies;
  place_all(plan, variables, o, policies);
  const auto work = work_of_step(model, o.gradient_norm, rows, o.threads);

  const auto queue = add_data(plan, data, o.replicas);
  plan.actors.push_back({"feeder", "feeder", "data", 1,
                         split ? "cuts each batch in shares" : "hands out whole batches", 0, "",
                         0});
  const auto batch_bytes = [&](std::int64_t count) {
    return known(data.components())
               ? std::optional(example_bytes(data) * static_cast<std::uint64_t>(count))
               : std::nullopt;
  };
  plan.flows.push_back({queue, "feeder", "batch", batch_bytes(data.rows()), "batch"});
  const auto memory = data.memory(o.replicas);
  plan.actors.push_back({"replica", o.replicas == 1 ? "replica" : "replicas", "training",
                         o.replicas, text(rows, " rows each, ", o.aggregation.policy),
                         memory.batches, "batches on the way to them and with them", 0});
  plan.flows.push_back(
      {"feeder", "replica", split ? "share of a batch" : "batch", batch_bytes(rows), "step"});
  const auto intra = o.threads.resolved().intra_op;
  plan.actors.push_back(
      {"device", "device CPU:0", "training", 1,
       text("runs all graphs, ", intra, intra == 1 ? " thread" : " threads", " inside an op"),
       static_cast<std::uint64_t>(o.replicas) * work.arena_bytes,
       "activations of the steps of all replicas, as they are compiled", 0});
  plan.flows.push_back({"replica", "device", "runs of the step", std::nullopt, "step"});

  std::map<std::string, std::uint64_t> trained, all;
  for (const auto& v : plan.variables) {
    all[v.home] += v.bytes;
    if (v.trainable) trained[v.home] += v.bytes;
  }
  const auto slots = slots_of(o.optimizer) + (o.average_decay > 0 ? 1 : 0);
  const auto rounds = every(std::max({o.aggregation.accumulate, policy->local_steps()}));
  double updated = 0;
  for (const auto& [home, bytes] : all) {
    const auto count = std::count_if(plan.variables.begin(), plan.variables.end(),
                                     [&, name = home](const auto& v) { return v.home == name; });
    plan.actors.push_back({home, home, "parameters", 1,
                           text(count, count == 1 ? " variable, " : " variables, ", bytes, " bytes",
                                policies.empty() ? "" : ", " + policies[home]),
                           bytes + slots * trained[home], "values and slots of the optimizer", 0});
    plan.flows.push_back({home, "replica", "parameters", bytes, rounds});
    plan.flows.push_back({"replica", home, "gradients", trained[home], rounds});
    updated +=
        static_cast<double>((2 + slots + static_cast<std::size_t>(o.replicas)) * trained[home]);
  }
  std::string of_groups;
  for (const auto& group : o.aggregation.groups)
    of_groups += text("; for ", group.variables, " by ", group.policy);
  plan.actors.push_back({"coordinator", "coordinator", "parameters", 1,
                         text("decides by ", o.aggregation.policy, of_groups), 0, "", 0});
  for (const auto& [home, bytes] : all)
    plan.flows.push_back({home, "coordinator", "which sets are there", std::nullopt, rounds});
  if (o.evaluation.data) {
    const auto set = add_data(plan, *o.evaluation.data, 1, "evaluation ");
    plan.actors.push_back({"evaluator", "evaluator", "results", 1,
                           o.evaluation.every == 0 ? std::string("at the end")
                                                   : text("every ", o.evaluation.every, " steps"),
                           batch_total(*o.evaluation.data), "the evaluation set", 0});
    plan.flows.push_back({set, "evaluator", "batches", std::nullopt, "once"});
    for (const auto& [home, bytes] : all)
      plan.flows.push_back({home, "evaluator", "parameters", bytes, "evaluation"});
  }
  if (!o.checkpoints.directory.empty()) {
    plan.actors.push_back(
        {"checkpointer", "checkpointer", "results", 1,
         text(o.checkpoints.directory, ", ",
              o.checkpoints.every == 0 ? std::string("at the end")
                                       : text("every ", o.checkpoints.every, " steps")),
         0, "", 1});
    for (const auto& [home, bytes] : all)
      plan.flows.push_back(
          {home, "checkpointer", "values and slots", bytes + slots * trained[home], "checkpoint"});
  }
  if (!o.summary_directory.empty())
    plan.actors.push_back(
        {"summary writer", "summary writer", "results", 1, o.summary_directory, 0, "", 1});
  if (!o.summary_directory.empty())
    plan.flows.push_back({"replica", "summary writer", "loss and metrics", std::nullopt, "step"});
  place_nodes(plan, *model.graph, "/device:CPU:0");
  add_costs(plan, data, work.flops * (split ? o.replicas : 1),
            static_cast<double>(rows) * (split ? o.replicas : 1), updated, "replicas",
            std::max(o.replicas, intra));
  finish(plan, o.threads);
  return plan;
}

Plan plan_stages(const std::string& title, const TopologyFile& file) {
  Plan plan;
  plan.title = title;
  plan.data = file.data.describe();
  const auto& staged = *file.stages;
  const auto& o = staged.options;
  const auto programs = cut_into_stages(staged.model, o.seed);
  const auto stages = static_cast<std::uint32_t>(programs.size());
  const auto pieces = static_cast<std::uint32_t>(o.micro_batches);
  const auto rows = std::max<std::int64_t>(1, file.data.rows() / o.micro_batches);
  const auto queue = add_data(plan, file.data, 1);
  plan.actors.push_back({"leader", "stage leader", "data", 1,
                         text("cuts each batch into ", pieces, " micro-batches"),
                         file.data.memory(1).batches, "batches", 0});
  plan.flows.push_back(
      {queue, "leader", "batch",
       known(file.data.components())
           ? std::optional(example_bytes(file.data) * static_cast<std::uint64_t>(file.data.rows()))
           : std::nullopt,
       "step"});
  const auto slots = slots_of(o.optimizer);
  double slowest = 0, updated = 0;
  std::string slowest_why;
  for (std::uint32_t i = 0; i < stages; ++i) {
    const auto& program = programs[i];
    const auto id = text("stage ", i);
    const auto work = work_of_stage(program, rows, o.threads);
    std::uint64_t values = 0, trained = 0;
    for (const auto& v : program.variables) {
      const TensorSpec spec{v.initial.dtype(), v.initial.shape()};
      plan.variables.push_back({v.name, spec, v.initial.byte_size(), v.trainable, id,
                                text("its layer is in stage ", i)});
      values += v.initial.byte_size();
      if (v.trainable) trained += v.initial.byte_size();
    }
    // How many pieces go forward before the first comes back.
    std::uint64_t held = 0, most = 0;
    for (const auto& move : stage_order(o.schedule, i, stages, pieces)) {
      held = move.forward ? held + 1 : held - (held > 0 ? 1 : 0);
      most = std::max(most, held);
    }
    most = std::max<std::uint64_t>(most, 1);
    plan.actors.push_back({id, id, "training", 1,
                           text(staged.layers[i], "; at most ", most,
                                most == 1 ? " micro-batch" : " micro-batches", " under way"),
                           values + slots * trained + most * work.input_bytes + work.arena_bytes,
                           "values, slots, inputs of the micro-batches, activations of one", 0});
    const auto from = i == 0 ? std::string("leader") : text("stage ", i - 1);
    plan.flows.push_back(
        {from, id, i == 0 ? "inputs" : "activations", work.input_bytes, "micro-batch"});
    if (i > 0) plan.flows.push_back({id, from, "gradients", work.input_bytes, "micro-batch"});
    const auto seconds = work.flops * pieces / kFlopsPerCpu;
    if (seconds > slowest) {
      slowest = seconds;
      slowest_why = text(id, " has most to do: ", rounded(work.flops * pieces, "flop"),
                         " a step, at ", rounded(kFlopsPerCpu, "flop/s"));
    }
    updated += static_cast<double>((2 + slots) * trained);
    place_nodes(plan, *program.backward.graph, text("/device:CPU:", i));
  }
  plan.flows.push_back({"leader", text("stage ", stages - 1), "labels",
                        bytes_of(staged.model.labels, rows), "micro-batch"});
  const auto bubble = static_cast<double>(stages - 1) / static_cast<double>(pieces + stages - 1);
  add_costs(plan, file.data, 0, static_cast<double>(file.data.rows()), updated, "stages", 1);
  for (auto& cost : plan.costs)
    if (cost.who == "stages") cost = {"stages", slowest / (1 - bubble), slowest_why};
  plan.note = text("stages wait ", std::lround(100 * bubble),
                   " % of the time at best, for the first and the last micro-batch: (P - 1) / (M + "
                   "P - 1) with P = ",
                   stages, " and M = ", pieces);
  finish(plan, o.threads);
  return plan;
}

Plan plan_answers(const TopologyFile& file) {
  const auto& ensemble = *file.ensemble;
  Plan plan;
  plan.title = text("ensemble ", file.name, ", answering together");
  plan.data =
      text("queries -> ", ensemble.members.size(), " members, combined by ", ensemble.combiner);
  plan.top_down = true;
  const auto& o = ensemble.options;
  plan.actors.push_back({"asker", "who asks", "queries", 1, "", 0, "", 0});
  plan.actors.push_back(
      {"ensemble", "ensemble", "ensemble", 1,
       text(ensemble.combiner, ", quorum ", o.quorum == 0 ? "all" : text(o.quorum),
            o.deadline == kForever ? std::string() : text(", deadline ", o.deadline.count(), " ms"),
            ", at most ", o.max_outstanding, " queries with a member"),
       0, "", 0});
  const auto& components = file.data.components();
  const auto query = known(components) ? std::optional(bytes_of(components[0])) : std::nullopt;
  plan.flows.push_back({"asker", "ensemble", "query", query, "row"});
  plan.flows.push_back({"ensemble", "asker", "combined answer", std::nullopt, "query"});
  for (const auto& member : ensemble.members) {
    const auto model = member.model(false);
    std::uint64_t bytes = 0;
    for (const auto& variable : model.graph->variables()) {
      bytes += bytes_of(variable.spec());
      plan.variables.push_back({member.name + ": " + variable.name(), variable.spec(),
                                bytes_of(variable.spec()), variable.trainable(),
                                "member " + member.name, "it is of that member's model"});
    }
    const auto id = "member " + member.name;
    plan.actors.push_back(
        {id, id, "members", 1, text("weight ", member.weight), bytes, "weights", 0});
    plan.flows.push_back({"ensemble", id, "query", query, "row"});
    plan.flows.push_back(
        {id, "ensemble", "answer",
         model.predictions ? std::optional(bytes_of(model.predictions.spec())) : std::nullopt,
         "row"});
  }
  finish(plan, file.options.threads);
  return plan;
}

}  // namespace

std::uint64_t TopologyPlan::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& each : actors)
    if (__builtin_add_overflow(sum, each.bytes, &sum)) return ~std::uint64_t{0};
  return sum;
}

int TopologyPlan::threads() const {
  int sum = inter_op + std::max(0, intra_op - 1);
  for (const auto& each : actors) sum += each.own_threads;
  return sum;
}

std::vector<TopologyPlan> plans_of(const TopologyFile& file) {
  if (file.stages) return {plan_stages(text("topology ", file.name), file)};
  if (!file.ensemble)
    return {plan_training(text("topology ", file.name), file.model, file.data, file.options)};
  std::vector<TopologyPlan> plans;
  for (const auto& member : file.ensemble->members)
    if (member.checkpoint.empty())
      plans.push_back(plan_training(text("ensemble ", file.name, ", member ", member.name),
                                    member.model, file.data, member.options));
  plans.push_back(plan_answers(file));
  return plans;
}

}  // namespace troupe
