#include "troupe/actors/training/casting.h"

#include <algorithm>

#include "troupe/actors/aggregation/compression.h"
#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/allreduce/group_keeper.h"
#include "troupe/actors/allreduce/reducer.h"
#include "troupe/actors/checkpoint/checkpointer.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/actors/checkpoint/memory_file.h"
#include "troupe/actors/parameters/group_placement.h"
#include "troupe/actors/training/evaluator.h"
#include "troupe/actors/training/policy_check.h"
#include "troupe/actors/training/resume_point.h"
#include "troupe/actors/training/shard_threads.h"
#include "troupe/actors/training/summary_actor.h"

namespace troupe {

namespace {

std::string groups_text(const std::vector<PolicyGroup>& groups) {
  std::string words;
  for (const auto& group : groups) words += text(", ", group.variables, ": ", group.policy);
  return words;
}

}  // namespace

std::string which_run(Casting c, const Batches& data, const std::string& model, std::int64_t from) {
  const auto& o = c.options;
  const auto& a = o.aggregation;
  auto words = text(
      "policy ", a.policy, ", ", o.replicas, " replicas, ", o.shards, " shards, accumulate ",
      a.accumulate, ", clip_norm ", a.clip_norm, ", compression ", a.compression, ", all_reduce ",
      a.all_reduce, groups_text(a.groups), ", ", o.optimizer, ", learning rate ", o.learning_rate,
      ", seed ", o.seed, ", ", model, ", precision ", o.precision, ", from step ", from,
      ", max_steps ", o.max_steps, ", batches of ", data.rows(), ", ", data.describe());
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

RememberingCoordinator spawn_coordinator(Casting c, std::size_t shards,
                                         const std::vector<std::uint32_t>& group_of_shard,
                                         const std::string& table, const TrainingListener& listener,
                                         const std::string& run, const ObservedCheckpointer& writer,
                                         bool with_data) {
  CoordinatorOptions o;
  o.table = table;
  o.group_of_shard = group_of_shard;
  o.aggregation = c.options.aggregation;
  o.all_reduce = all_reduces(c.options);
  o.shards = static_cast<std::uint32_t>(shards);
  o.replicas = static_cast<std::uint32_t>(c.options.replicas);
  o.max_steps = c.options.max_steps;
  o.deterministic = c.options.deterministic;
  o.replaces_lost = c.options.restarts.most > 0;
  o.listener = listener;
  o.snapshot_every = c.options.checkpoints.every;
  if (with_data) o.sink = caf::actor_cast<DataSink>(writer);
  if (writer) o.book = caf::actor_cast<CheckpointBook>(writer);
  o.run = run;
  return c.troupe.spawn("coordinator", coordinator, o);
}

namespace {

/// A group of as many members as there are replicas.
std::vector<Reducer> spawn_reducers(Casting c) {
  const auto members = static_cast<std::uint32_t>(c.options.replicas);
  const auto kind = parse_all_reduce(c.options.aggregation.all_reduce);
  std::vector<Reducer> reducers;
  std::vector<ReductionPort> ports;
  for (std::uint32_t i = 0; i < members; ++i) {
    reducers.push_back(
        c.troupe.spawn(text("reducer ", i), reducer, ReducerOptions{kind, "all-reduce"}));
    ports.push_back(reducers.back());
  }
  for (const auto& one : reducers)
    c.troupe.ask<caf::ok_atom>(one, kPatienceAtStart, join_atom_v, ports);
  return reducers;
}

}  // namespace

std::vector<ShardKeeperOptions::Kept> spawn_shards(
    Casting c, std::vector<std::vector<ShardVariable>> variables,
    const std::vector<std::uint32_t>& group_of_shard, const Coordinator& coordinator,
    const SnapshotSink& sink, const std::vector<StreamedPart>& parts) {
  std::vector<ShardKeeperOptions::Kept> shards;
  std::vector<Reducer> reducers;
  if (all_reduces(c.options)) {
    reducers = spawn_reducers(c);
    variables.resize(reducers.size(), variables.at(0));
  }
  const auto& a = c.options.aggregation;
  const auto threads = shard_threads(variables, c.options.threads);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    ShardOptions o;
    o.index = static_cast<std::uint32_t>(i);
    o.variables = std::move(variables[i]);
    o.optimizer = c.options.optimizer;
    o.schedule = c.options.learning_rate;
    o.coordinator = coordinator;
    o.policy = a.policy;
    if (const auto group = group_of_shard.empty() ? 0 : group_of_shard[i]; group > 0) {
      o.group = a.groups[group - 1].variables;
      o.policy = a.groups[group - 1].policy;
    }
    o.look_for_nan = a.not_finite != NotFinite::ignore;
    o.average_decay = c.options.average_decay;
    // With groups the coordinator says when.
    if (a.groups.empty()) o.snapshot_every = c.options.checkpoints.every;
    o.threads = threads;
    if (!reducers.empty()) {
      o.reducer = reducers[i];
      for (const auto& part : parts)
        if (!part.indices) o.parts.push_back({part.variable, part.kind});
    }
    // Shards of an all-reduce have the same: one of them is enough for a checkpoint.
    const auto shard = c.troupe.spawn(text("shard ", i), parameter_shard, o,
                                      reducers.empty() || i == 0 ? sink : SnapshotSink());
    c.troupe.observe(shard, Role::shard);
    shards.push_back({shard, std::move(o)});
  }
  return shards;
}

namespace {

/// Has members listed under the names of those whose places they take.
auto lists(Troupe& troupe) {
  return [&troupe](const std::string& name, const caf::actor& member) {
    troupe.replace(name, member);
  };
}

ShardKeeper spawn_group_keeper(Casting c, std::vector<ShardKeeperOptions::Kept> shards,
                               const SnapshotSink& sink, const TrainingListener& listener) {
  GroupKeeperOptions o;
  for (auto& [shard, options] : shards) {
    // A new one begins with what the others have.
    for (auto& variable : options.variables)
      if (!variable.table) variable.initial = Tensor();
    o.members.push_back({shard, std::move(options)});
  }
  o.kind = parse_all_reduce(c.options.aggregation.all_reduce);
  o.coordinator = o.members.at(0).options.coordinator;
  o.sink = sink;
  o.listener = listener;
  o.enter = lists(c.troupe);
  o.forget = [&troupe = c.troupe](const caf::actor& member) { troupe.forget(member); };
  return c.troupe.spawn("group keeper", group_keeper, o);
}

}  // namespace

ShardKeeper spawn_keeper(Casting c, std::vector<ShardKeeperOptions::Kept> shards,
                         const SnapshotSink& sink, const TrainingListener& listener) {
  if (all_reduces(c.options)) return spawn_group_keeper(c, std::move(shards), sink, listener);
  if (c.options.backup_shards == 0) return {};
  ShardKeeperOptions o;
  o.shards = std::move(shards);
  o.backups = static_cast<std::uint32_t>(c.options.backup_shards);
  o.sink = sink;
  o.listener = listener;
  o.enter = lists(c.troupe);
  return c.troupe.spawn("shard keeper", shard_keeper, o);
}

std::uint64_t restore(Casting c, const std::vector<Shard>& shards,
                      const std::vector<std::uint32_t>& group_of_shard,
                      const Checkpoint& checkpoint) {
  check_labels(checkpoint, c.options.labels);
  auto snapshot = read_snapshot(checkpoint);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto group = group_of_shard.empty() ? 0 : group_of_shard[i];
    snapshot.version =
        group == 0 ? static_cast<Version>(checkpoint.step())
                   : own_version(checkpoint, c.options.aggregation.groups[group - 1].variables);
    c.troupe.ask<caf::ok_atom>(shards[i], kPatienceAtStart, restore_atom_v, snapshot);
  }
  return static_cast<std::uint64_t>(checkpoint.step());
}

void note_optimizer(Casting c, const Checkpoint& checkpoint, std::vector<std::string>& notes) {
  auto missing = Optimizer(c.options.optimizer).slot_names();
  for (const auto& file : checkpoint.manifest().files)
    for (const auto& tensor : file.tensors)
      if (tensor.kind == TensorKind::slot) std::erase(missing, tensor.slot);
  if (missing.empty()) return;
  std::string names;
  for (const auto& name : missing) names += (names.empty() ? "'" : ", '") + name + "'";
  notes.push_back(text(checkpoint.name(), " has no ", names, " of ", c.options.optimizer,
                       ": the optimizer begins anew"));
}

Batches::Running examples_of(Troupe& troupe, const Queue& examples) {
  Batches::Running end;
  end.queue = examples;
  troupe.add("examples", caf::actor_cast<caf::actor>(examples));
  troupe.observe(examples, Role::queue);
  return end;
}

Observer spawn_observer(Casting c, const ShardKeeper& keeper) {
  ObserverOptions o;
  o.keeper = keeper;
  o.topology = c.troupe.topology();
  o.actors = c.troupe.observed();
  o.stalled = c.options.stalled;
  return c.troupe.spawn("observer", observer, o);
}

void publish_last(Casting c, const Publisher& publisher) {
  try {
    c.troupe.ask<caf::ok_atom>(publisher, c.options.patience, save_atom_v);
  } catch (const Error& error) {
    if (c.options.events)
      c.options.events(text("the last weights could not be published: ", error.what()));
  }
}

std::shared_ptr<const DataState> data_to_resume(Casting c, const Checkpoint& checkpoint,
                                                std::uint64_t otherwise,
                                                std::vector<std::string>& notes) {
  if (c.options.checkpoints.data_from_start) return nullptr;
  auto state = read_data(checkpoint);
  if (!state) {
    const auto why = why_no_data(checkpoint.manifest());
    notes.push_back(text(checkpoint.name(), " has no data in it",
                         why.empty() ? "" : " (" + why + ")",
                         otherwise == 0 ? ": they are read from the beginning"
                                        : text(": they go on with batch ", otherwise)));
    return nullptr;
  }
  return std::make_shared<const DataState>(std::move(*state));
}

BestEvaluation comparison(const EvaluationOptions& o, const std::vector<std::string>& values) {
  const auto found = std::find(values.begin(), values.end(), o.best_by);
  if (found == values.end()) {
    std::string names;
    for (const auto& name : values) names += text(names.empty() ? "" : ", ", name);
    fail(Code::invalid_argument, "evaluations have no value '", o.best_by,
         "' to compare them by (evaluation.best_by); there are: ", names);
  }
  return BestEvaluation({static_cast<std::size_t>(found - values.begin()), o.larger_is_better,
                         o.min_delta, o.patience});
}

void go_on_comparing(BestEvaluation& best, const Checkpoint& from) {
  const auto& state = from.manifest().state;
  const auto found = state.find(std::string(kBestEvaluation));
  if (found != state.end()) best.restore(found->second);
}

std::vector<ReplicaMemory> memories_of(Casting c, const Checkpoint& checkpoint,
                                       const DataState* data, std::vector<std::string>& notes) {
  const auto memories = read_memories(checkpoint);
  if (memories.empty()) {
    notes.push_back(text(checkpoint.name(),
                         " does not say what its replicas kept for themselves: loss scales begin "
                         "anew, and what compression had left of gradients is lost"));
    return {};
  }
  const auto replicas = static_cast<std::uint32_t>(c.options.replicas);
  const auto before =
      data && data->replicas > 0 ? data->replicas : static_cast<std::uint32_t>(memories.size());
  double factor = 1;
  if (replicas != before && std::ranges::any_of(memories, [](const ReplicaMemory& memory) {
        return !memory.owed.empty();
      })) {
    notes.push_back(text("what compression had left of the gradients of ", before,
                         before == 1 ? " replica" : " replicas", " is dealt out to ", replicas));
    // The part that a replica has in a mean of all.
    if (!make_policy(c.options.aggregation.policy)->single_sets())
      factor = static_cast<double>(replicas) / before;
  }
  try {
    return dealt_out(memories, replicas, factor);
  } catch (const Error& error) {
    throw error.within(checkpoint.name());
  }
}

void note_differences(Casting c, const DataState& from, std::int64_t rows, bool split,
                      std::vector<std::string>& notes) {
  if (from.rows != rows)
    notes.push_back(text("the batches had ", from.rows, " rows and now have ", rows,
                         ": those that were on their way keep their size"));
  if (!from.outstanding.empty() &&
      (from.split != split || (split && static_cast<int>(from.replicas) != c.options.replicas)))
    notes.push_back(text(from.outstanding.size(),
                         " batches or shares of batches were on their way to ", from.replicas,
                         from.replicas == 1 ? " replica" : " replicas",
                         ": whoever comes first gets them, so that the updates are not those of "
                         "the run that was interrupted"));
}

}  // namespace troupe
