#include "troupe/actors/topology/topology_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/stages/stage_program.h"
#include "troupe/actors/topology/graph_work.h"
#include "troupe/actors/topology/parameter_plan.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/actors/training/training_devices.h"
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

void place_nodes(Plan& plan, const Graph& graph, const std::vector<std::string>& devices) {
  // With one device nobody is asked.
  const auto placement = place(graph, devices, {.soft = devices.size() == 1});
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

/// Where replicas run, of which replica 0 is on the first device or another one; returns the
/// devices that a graph is placed on.
std::vector<std::string> add_devices(Plan& plan, const TrainingOptions& o, const Graph& graph,
                                     std::uint64_t arena_bytes, int first) {
  const auto replicas = static_cast<std::uint64_t>(o.replicas);
  const auto budget = o.threads.resolved();
  const auto intra = o.devices == 1           ? budget.intra_op
                     : o.threads.intra_op > 0 ? o.threads.intra_op
                                              : std::max(1, budget.intra_op / o.devices);
  const auto inside = text(intra, intra == 1 ? " thread" : " threads", " inside an op");
  const char* holds = "activations of the steps of all replicas, as they are compiled";
  std::vector<std::string> all;
  for (int i = 0; i < o.devices; ++i) all.push_back(text("/device:CPU:", i));
  if (o.devices == 1 || !o.device.empty()) {
    const auto one = o.device.empty() ? 0 : device_called(o.device, o.devices);
    plan.actors.push_back({"device", text("device CPU:", one), "training", 1,
                           "runs all graphs, " + inside, replicas * arena_bytes, holds, 0});
    all = {all[one]};
  } else {
    const bool together = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                      [](const Node& node) { return !node.device.empty(); });
    plan.actors.push_back(
        {"device", text("devices CPU:0 to CPU:", o.devices - 1), "training", o.devices,
         (together ? std::string("every replica runs on all of them, as the model asks for, ")
                   : text("replica i on device ", first == 0 ? "i" : text("i + ", first),
                          " modulo ", o.devices, ", ")) +
             inside + " of each",
         replicas * arena_bytes, holds, o.devices * (intra - 1) - (budget.intra_op - 1)});
    if (!together) all = {all[static_cast<std::size_t>(first)]};  // each runs the whole graph
  }
  plan.flows.push_back({"replica", "device", "runs of the step", std::nullopt, "step"});
  return all;
}

/// What a shard holds, and what goes from it to a replica and back each time.
struct ShardBytes {
  std::size_t variables = 0;
  std::string policy;  // where groups of variables have their own
  std::uint64_t values = 0;
  std::uint64_t trained = 0;
  std::uint64_t pulled = 0, pushed = 0;            // as a whole
  std::uint64_t rows_pulled = 0, rows_pushed = 0;  // of tables, at most
};

std::map<std::string, ShardBytes> held_by_shards(const std::vector<PlannedVariable>& parameters) {
  std::map<std::string, ShardBytes> shards;
  for (const auto& p : parameters) {
    auto& shard = shards[text("shard ", p.shard)];
    ++shard.variables;
    shard.policy = p.policy;
    shard.values += p.bytes;
    if (p.trainable) shard.trained += p.bytes;
    (p.table ? shard.rows_pulled : shard.pulled) += p.pulled;
    (p.table ? shard.rows_pushed : shard.pushed) += p.pushed;
  }
  return shards;
}

std::uint64_t slots_of(const TrainingOptions& o) {
  return slots_of(o.optimizer) + (o.average_decay > 0 ? 1 : 0);
}

/// Shards with their copies and the coordinator, and what goes between them and the replicas.
/// Returns the bytes that an update of all of them passes over.
double add_parameters(Plan& plan, const TrainingOptions& o,
                      const std::vector<PlannedVariable>& parameters) {
  const auto policy = make_policy(o.aggregation.policy);
  const auto slots = slots_of(o);
  const auto replicas = static_cast<std::uint64_t>(o.replicas);
  const auto rounds = every(std::max({o.aggregation.accumulate, policy->local_steps()}));
  const auto& compression = o.aggregation.compression;
  const auto gradients = compression == "none" ? "gradients" : "gradients, " + compression;
  const bool all_reduce = o.aggregation.all_reduce != "none";
  const auto shards = held_by_shards(parameters);
  double updated = 0;
  for (const auto& [home, held] : shards) {
    const auto bytes = held.values + slots * held.trained;
    updated += static_cast<double>((2 + slots + replicas) * held.trained);
    const auto words = text(held.variables, held.variables == 1 ? " variable, " : " variables, ",
                            held.values, " bytes", held.policy.empty() ? "" : ", " + held.policy);
    if (all_reduce)
      plan.actors.push_back({home, o.replicas == 1 ? "shard" : "shards", "parameters", o.replicas,
                             words + ", one beside each replica", replicas * bytes,
                             "values and slots of the optimizer, once for each replica", 0});
    else
      plan.actors.push_back(
          {home, home, "parameters", 1, words, bytes, "values and slots of the optimizer", 0});
    if (held.pulled > 0) plan.flows.push_back({home, "replica", "parameters", held.pulled, rounds});
    if (held.pushed > 0) plan.flows.push_back({"replica", home, gradients, held.pushed, rounds});
    if (held.rows_pulled > 0)
      plan.flows.push_back({home, "replica", "rows of tables, at most", held.rows_pulled, "step"});
    if (held.rows_pushed > 0)
      plan.flows.push_back(
          {"replica", home, "gradients of rows, at most", held.rows_pushed, rounds});
    if (all_reduce && o.replicas > 1)
      plan.flows.push_back(
          {home, home, o.aggregation.all_reduce + " all-reduce, over each link",
           all_reduce_bytes(o.aggregation.all_reduce, o.replicas, held.pushed + held.rows_pushed),
           rounds});
    if (o.backup_shards == 0) continue;
    const auto copies = static_cast<std::uint64_t>(o.backup_shards);
    const auto id = "copies of " + home;
    plan.actors.push_back({id, (copies == 1 ? "copy of " : "copies of ") + home, "parameters",
                           o.backup_shards, "one takes its place when it dies", copies * bytes,
                           "the same as " + home, 0});
    plan.flows.push_back({home, id, text("what all replicas push", copies == 1 ? "" : ", to each"),
                          replicas * (held.pushed + held.rows_pushed), rounds});
  }
  if (o.backup_shards > 0) {
    std::uint64_t values = 0;
    for (const auto& [home, held] : shards) values += held.values;
    plan.actors.push_back({"keeper", "shard keeper", "parameters", 1,
                           "puts a copy in the place of a shard that dies", values,
                           "initial values, for new copies", 0});
  }
  std::string of_groups;
  for (const auto& group : o.aggregation.groups)
    of_groups += text("; for ", group.variables, " by ", group.policy);
  plan.actors.push_back({"coordinator", "coordinator", "parameters", 1,
                         text("decides by ", o.aggregation.policy, of_groups), 0, "", 0});
  for (const auto& [home, held] : shards)
    plan.flows.push_back({home, "coordinator", "which sets are there", std::nullopt, rounds});
  return updated;
}

Plan plan_training(const std::string& title, const ModelFunction& function, const Batches& given,
                   const TrainingOptions& o, int first_device = 0) {
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
  const auto parameters = plan_parameters(model, o, rows);
  for (const auto& p : parameters)
    plan.variables.push_back(
        {p.name, p.spec, p.bytes, p.trainable, text("shard ", p.shard), p.why});
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
  const auto devices = add_devices(plan, o, *model.graph, work.arena_bytes, first_device);
  const auto updated = add_parameters(plan, o, parameters);
  if (o.evaluation.data) {
    const auto set = add_data(plan, *o.evaluation.data, 1, "evaluation ");
    plan.actors.push_back({"evaluator", "evaluator", "results", 1,
                           o.evaluation.every == 0 ? std::string("at the end")
                                                   : text("every ", o.evaluation.every, " steps"),
                           batch_total(*o.evaluation.data), "the evaluation set", 0});
    plan.flows.push_back({set, "evaluator", "batches", std::nullopt, "once"});
    for (const auto& [home, held] : held_by_shards(parameters))
      plan.flows.push_back({home, "evaluator", "parameters", held.values, "evaluation"});
  }
  if (!o.checkpoints.directory.empty()) {
    plan.actors.push_back(
        {"checkpointer", "checkpointer", "results", 1,
         text(o.checkpoints.directory, ", ",
              o.checkpoints.every == 0 ? std::string("at the end")
                                       : text("every ", o.checkpoints.every, " steps")),
         0, "", 1});
    for (const auto& [home, held] : held_by_shards(parameters))
      plan.flows.push_back({home, "checkpointer", "values and slots",
                            held.values + slots_of(o) * held.trained, "checkpoint"});
  }
  if (!o.summary_directory.empty())
    plan.actors.push_back(
        {"summary writer", "summary writer", "results", 1, o.summary_directory, 0, "", 1});
  if (!o.summary_directory.empty())
    plan.flows.push_back({"replica", "summary writer", "loss and metrics", std::nullopt, "step"});
  place_nodes(plan, *model.graph, devices);
  add_costs(plan, data, work.flops * (split ? o.replicas : 1),
            static_cast<double>(rows) * (split ? o.replicas : 1), updated, "replicas",
            std::max(o.replicas, o.threads.resolved().intra_op));
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
  std::vector<std::pair<std::string, std::uint64_t>> kept;  // by a checkpoint, of each stage
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
    kept.emplace_back(id, values + slots * trained);
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
    place_nodes(plan, *program.backward.graph, {text("/device:CPU:", i)});
  }
  plan.flows.push_back({"leader", text("stage ", stages - 1), "labels",
                        bytes_of(staged.model.labels, rows), "micro-batch"});
  if (const auto& c = file.options.checkpoints; !c.directory.empty()) {
    plan.actors.push_back(
        {"checkpointer", "checkpointer", "results", 1,
         text(c.directory, ", ",
              c.every == 0 ? std::string("at the end") : text("every ", c.every, " steps")),
         0, "", 1});
    for (const auto& [id, bytes] : kept)
      plan.flows.push_back({id, "checkpointer", "values and slots", bytes, "checkpoint"});
  }
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
  int first = 0;  // replicas are dealt out over the devices
  for (const auto& member : file.ensemble->members) {
    const auto& o = member.options;
    if (!member.checkpoint.empty()) continue;
    // Members that have the data in their checkpoints find their batches by number.
    const auto data = o.checkpoints.data ? file.data.in_order() : file.data;
    plans.push_back(plan_training(text("ensemble ", file.name, ", member ", member.name),
                                  member.model, data, o, first));
    if (o.device.empty()) first = (first + o.replicas) % o.devices;
  }
  plans.push_back(plan_answers(file));
  return plans;
}

}  // namespace troupe
