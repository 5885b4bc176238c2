#include "troupe/actors/training/training.h"

#include <algorithm>
#include <caf/all.hpp>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/checkpointer.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/actors/explain/observer.h"
#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/actors/parameters/shard_keeper.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/casting.h"
#include "troupe/actors/training/conductor.h"
#include "troupe/actors/training/evaluator.h"
#include "troupe/actors/training/feeder.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/actors/training/initial_shards.h"
#include "troupe/actors/training/lost_leaders.h"
#include "troupe/actors/training/option_check.h"
#include "troupe/actors/training/policy_check.h"
#include "troupe/actors/training/publisher.h"
#include "troupe/actors/training/replica.h"
#include "troupe/actors/training/replica_memory.h"
#include "troupe/actors/training/resume_point.h"
#include "troupe/actors/training/summary_actor.h"
#include "troupe/actors/training/training_devices.h"
#include "troupe/ops/autocast.h"
#include "troupe/ops/random.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

/// Whether another run goes the way of this one, or this one that of another.
bool follows_a_recording(const TrainingOptions& o) {
  return !o.aggregation.record.empty() || !o.aggregation.replay.empty();
}

void expect_no_recording(const TrainingOptions& o) {
  if (follows_a_recording(o))
    fail(Code::failed_precondition, "a run that is recorded or replayed keeps its policy");
}

std::string first_of(const std::vector<std::string>& tables) {
  return tables.empty() ? std::string() : tables.front();
}

Model built(const ModelFunction& model, bool training, DType precision) {
  const AutocastScope scope(precision);
  return model(training);
}

std::string in_mebibytes(double bytes) {
  std::ostringstream out;
  out.precision(1);
  out << std::fixed << bytes / (1 << 20) << " MiB";
  return out.str();
}

}  // namespace

struct Training::Plan {
  Model model;
  ModelFragment fragment;
  std::optional<ModelFragment> evaluation;
  std::vector<std::string> variable_names;
  std::vector<std::string> tables;
  std::vector<std::vector<ShardVariable>> shards;  ///< until they are spawned
  std::size_t shard_count = 0;
  std::vector<std::uint32_t> group_of_shard;  ///< when there are several
  std::size_t leading = 0;  ///< so many shards have the run's policy, the first ones; 0: all
  std::uint64_t parameter_bytes = 0;
};

struct Training::Running {
  Running(ThreadBudget budget, Troupe* host) : troupe(host ? Troupe(*host) : Troupe(budget)) {}
  Troupe troupe;
  LeadingConductor conductor;
  PipelineEditor pipeline;
  SummaryWriter summaries;
  Publisher publisher;
  Observer observer;
};

Training::Training(const ModelFunction& model, Batches data, TrainingOptions options,
                   TrainingHost host)
    : options_(std::move(options)),
      host_(std::move(host)),
      data_(std::move(data)),
      plan_(std::make_unique<Plan>()) {
  check(options_);
  expect_policy_fits(options_, options_.aggregation.policy);
  const auto& a = options_.aggregation;
  if (!a.record.empty() && !a.replay.empty())
    fail(Code::invalid_argument, "a run is recorded or replayed, not both");
  if (options_.deterministic || !a.record.empty() || !a.replay.empty()) data_ = data_.in_order();
  check_memory(memory_bound());
  plan_->model = built(model, true, options_.precision);
  check_fit(plan_->model, data_, "training");
  // Local steps and those to whom weights are published need all parameters; a graph that is
  // cut over devices is fed what its variables have.
  if (make_policy(options_.aggregation.policy)->local_steps() == 0 && !options_.publish.to &&
      options_.devices == 1 && !host_.devices)
    plan_->tables = table_variables(plan_->model, options_.tables);
  const auto variables = plan_->model.graph->variables();
  for (const auto& variable : variables) plan_->variable_names.push_back(variable.name());
  for (auto& shard : place_initial_values(variables, groups_of(plan_->variable_names, a.groups),
                                          options_, plan_->tables, plan_->parameter_bytes)) {
    plan_->shards.push_back(std::move(shard.variables));
    if (a.groups.empty()) continue;
    plan_->group_of_shard.push_back(shard.group);
    plan_->leading += shard.group == 0 ? 1 : 0;
  }
  plan_->shard_count = plan_->shards.size();
  const bool scale_loss = options_.precision == DType::float16;
  if (scale_loss && options_.aggregation.not_finite == NotFinite::fail)
    options_.aggregation.not_finite = NotFinite::skip;
  plan_->fragment =
      training_fragment(plan_->model, options_.gradient_norm, plan_->tables, scale_loss);
  const auto asked = options_.device.empty() ? options_.devices : 1;
  check_placement(*plan_->fragment.spec.graph, asked);
  if (options_.evaluation.data) {
    const auto evaluation = built(model, false, options_.precision);
    check_fit(evaluation, *options_.evaluation.data, "evaluation");
    plan_->evaluation = evaluation_fragment(evaluation, plan_->tables);
    check_placement(*plan_->evaluation->spec.graph, asked);
    auto read = plan_->evaluation->variables;
    for (const auto& rows : plan_->evaluation->reads) read.push_back(rows.variable);
    for (const auto& name : read)
      if (std::find(plan_->variable_names.begin(), plan_->variable_names.end(), name) ==
          plan_->variable_names.end())
        fail(Code::invalid_argument, "the evaluation model reads variable '", name,
             "', which the training model does not have");
  }
}

Training::~Training() { stop(options_.patience); }

std::uint64_t Training::memory_bound() const {
  // Batches of a set may have to be computed again: they are kept until it is applied.
  const auto& a = options_.aggregation;
  const auto kept =
      static_cast<std::int64_t>(std::max(a.accumulate, make_policy(a.policy)->local_steps())) - 1;
  return data_.prefetch(data_.prefetched() + kept).memory_bound(options_.replicas);
}

void Training::change_policy(const std::string& policy) {
  expect_policy_fits(options_, policy, first_of(plan_->tables));
  const std::lock_guard guard(mutex_);
  if (coordinator_) {
    expect_no_recording(options_);
    caf::anon_send(coordinator_, policy_atom_v, policy);
  } else {
    options_.aggregation.policy = policy;
  }
}

void Training::change_policy(const std::string& policy, const std::string& variables) {
  auto changed = options_;
  auto& groups = changed.aggregation.groups;
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const auto& one) { return one.variables == variables; });
  if (group == groups.end()) {
    std::string names;
    for (const auto& one : groups) names += text(names.empty() ? "" : "; ", one.variables);
    fail(Code::not_found, "no variables have a policy of their own by '", variables, "'",
         names.empty() ? "" : "; there are: " + names);
  }
  group->policy = policy;
  expect_policy_fits(changed, changed.aggregation.policy, first_of(plan_->tables));
  const std::lock_guard guard(mutex_);
  if (coordinator_) {
    expect_no_recording(options_);
    caf::anon_send(caf::actor_cast<SavingCoordinator>(coordinator_), policy_atom_v, policy,
                   variables);
  } else {
    options_.aggregation.groups = groups;
  }
}

std::string Training::describe() const {
  const auto budget = options_.threads.resolved();
  const auto& o = options_;
  std::ostringstream out;
  out << data_.describe() << '\n'
      << "  -> " << o.replicas << (o.replicas == 1 ? " replica" : " replicas")
      << (o.replicas == 1 && o.aggregation.groups.empty() ? "" : ", " + o.aggregation.policy)
      << (o.deterministic ? ", deterministic" : "")
      << (all_reduces(o)
              ? text(", ", o.aggregation.all_reduce, " all-reduce")
              : text(" <-> ", plan_->shard_count, plan_->shard_count == 1 ? " shard" : " shards"))
      << " with " << plan_->variable_names.size() << " variables"
      << (plan_->tables.empty() ? "" : text(" (", plan_->tables.size(), " by rows)")) << ", "
      << in_mebibytes(static_cast<double>(plan_->parameter_bytes)) << ", " << o.optimizer
      << ", learning rate " << o.learning_rate << '\n';
  for (std::size_t i = 0; i < o.aggregation.groups.size(); ++i) {
    const auto& group = o.aggregation.groups[i];
    const auto shards =
        std::count(plan_->group_of_shard.begin(), plan_->group_of_shard.end(), i + 1);
    out << "     " << group.variables << ": " << group.policy << ", in " << shards
        << (shards == 1 ? " shard" : " shards") << " of their own\n";
  }
  out << describe_devices(*plan_->fragment.spec.graph, o.devices, o.device)
      << "threads: " << budget.inter_op << " for actors (inter_op), " << budget.intra_op
      << " inside an op (intra_op); data in flight take at most "
      << in_mebibytes(static_cast<double>(memory_bound()));
  if (!o.checkpoints.directory.empty() && o.checkpoints.data) {
    const auto bound = data_.memory(o.replicas);
    out << ", of which a checkpoint has up to "
        << in_mebibytes(static_cast<double>(bound.queue) + static_cast<double>(bound.batches));
  }
  return out.str();
}

TrainingOutcome Training::run() {
  if (running_) fail(Code::failed_precondition, "Training::run() may be called once");
  std::unique_lock lock(mutex_);
  running_ = std::make_unique<Running>(options_.threads, host_.troupe);
  lock.unlock();
  auto& troupe = running_->troupe;
  const Casting casting{troupe, options_};
  const auto& o = options_;

  auto devices =
      host_.devices ? *host_.devices : TrainingDevices(troupe, o.threads, o.devices, o.replicas);
  if (!o.device.empty()) devices = devices.only(o.device);

  const auto leading = std::make_shared<ConductorOptions>();
  auto& c = *leading;
  lock.lock();
  running_->conductor =
      troupe.spawn("conductor", conductor, std::shared_ptr<const ConductorOptions>(leading));
  lock.unlock();
  const auto listener = caf::actor_cast<TrainingListener>(running_->conductor);

  const auto begin = checkpoint_to_resume(o.checkpoints);
  std::vector<std::string> notes;
  if (begin) note_optimizer(casting, *begin, notes);
  auto data_before = begin ? data_to_resume(casting, *begin, host_.first_batch, notes) : nullptr;
  const bool with_data =
      !o.checkpoints.directory.empty() && o.checkpoints.data && (!host_.examples || host_.keeper);
  ObservedCheckpointer writer;
  if (!o.checkpoints.directory.empty()) {
    CheckpointerOptions w;
    w.writer = checkpoint_writer(o.checkpoints);
    w.shards = static_cast<std::uint32_t>(plan_->shard_count);
    w.state = o.labels;
    w.with_data = with_data;
    if (o.checkpoints.keep_best > 0) {
      // Each one is better than those before.
      Retention best;
      best.keep_last = o.checkpoints.keep_best;
      w.best = std::make_shared<CheckpointWriter>(o.checkpoints.directory + "/best", best);
      w.values = plan_->evaluation->values;
    }
    w.listener = listener;
    writer = troupe.spawn<caf::detached>("checkpointer", checkpointer, w);
    troupe.observe(writer, Role::checkpointer);
  }
  const auto model =
      text(plan_->variable_names.size(), " variables of ", plan_->parameter_bytes, " bytes");
  const auto which = which_run(casting, data_, model, begin ? begin->step() : 0);
  if (const auto& a = o.aggregation; !a.replay.empty()) {
    // Whoever begins with them could only end with what is wrong.
    read_recording(a.replay + "/decisions", which);
    read_recording(a.replay + "/batches", which);
  } else if (!a.record.empty()) {
    expect_no_recording_in(a.record);
    std::error_code error;
    std::filesystem::create_directories(a.record, error);
    if (error) fail(Code::unavailable, "cannot create ", a.record, ": ", error.message());
  }
  lock.lock();
  const auto attached = all_reduces(o) ? static_cast<std::size_t>(o.replicas) : plan_->shard_count;
  const auto saving =
      spawn_coordinator(casting, attached, plan_->group_of_shard, first_of(plan_->tables), listener,
                        which, writer, with_data);
  coordinator_ = saving;
  const auto whole_rounds =
      make_policy(o.aggregation.policy)->whole_rounds() && !o.aggregation.leave_out_late;
  const auto sink = writer ? caf::actor_cast<SnapshotSink>(writer) : SnapshotSink();
  // Values that the plan still held would have to be copied by the first update.
  auto kept = spawn_shards(casting, std::exchange(plan_->shards, {}), plan_->group_of_shard,
                           coordinator_, sink, plan_->fragment.parts);
  std::vector<Shard> shards;
  for (const auto& one : kept) shards.push_back(one.shard);
  lock.unlock();
  if (begin) c.first_step = restore(casting, shards, plan_->group_of_shard, *begin);
  const auto keeper = spawn_keeper(casting, std::move(kept), sink, listener);

  const auto own_seed = mix(o.seed ^ mix(host_.keeper ? 0 : c.first_step));
  auto seed = data_before ? data_before->seed : own_seed;
  if (host_.keeper) seed = host_.seed;
  const auto pipeline =
      host_.examples
          ? examples_of(troupe, host_.examples)
          : data_.spawn(troupe, "", seed, data_before ? &data_before->pipeline : nullptr);
  notes.insert(notes.end(), pipeline.notes.begin(), pipeline.notes.end());
  lock.lock();
  running_->pipeline = pipeline.keeper;
  lock.unlock();
  FeederOptions f;
  f.queue = pipeline.queue;
  f.batch = data_.rows();
  f.replicas = static_cast<std::uint32_t>(o.replicas);
  f.split = whole_rounds;
  f.run = which;
  if (!o.aggregation.record.empty()) f.record = o.aggregation.record + "/batches";
  if (!o.aggregation.replay.empty()) f.replay = o.aggregation.replay + "/batches";
  f.keeper = host_.examples ? host_.keeper : PipelineKeeper(pipeline.keeper);
  f.seed = seed;
  f.begins = host_.begins;
  f.first_batch = host_.first_batch;
  if (data_before) {
    c.resumed_data = true;
    c.first_examples = data_before->trained;
    note_differences(casting, *data_before, f.batch, f.split, notes);
    troupe.tell(saving, restore_atom_v, data_before->aggregation);
  }
  ReplicaOptions r;
  r.fragment = plan_->fragment;
  r.compression = GradientCompression::parse(o.aggregation.compression);
  if (keeps_memory(r)) {
    r.memories = caf::actor_cast<MemoryKeeper>(saving);
    if (begin && !o.checkpoints.data_from_start)
      troupe.tell(saving, restore_atom_v, memories_of(casting, *begin, data_before.get(), notes));
  }
  if (o.events)
    for (const auto& note : notes) o.events(note);
  f.drop_remainder = data_.remainder() == Remainder::drop;
  f.from = std::move(data_before);
  const auto batches = troupe.spawn("feeder", feeder, f);
  f.from.reset();  // what was in the queue is not kept twice
  troupe.observe(batches, Role::feeder);
  troupe.link(pipeline.queue, batches);
  troupe.tell(saving, assign_atom_v, caf::actor_cast<Feeder>(batches));
  troupe.tell(saving, assign_atom_v, caf::actor_cast<DataKeeper>(batches));

  r.batches = batches;
  r.shards = shards;
  r.leading = plan_->leading;
  r.keeper = keeper;
  r.loss_scale = o.loss_scale;
  r.listener = listener;
  r.seed = host_.keeper ? own_seed : seed;
  r.optimizer = o.optimizer;
  r.learning_rate = o.learning_rate;
  r.clip_norm = o.aggregation.clip_norm;
  r.prefetch = static_cast<std::size_t>(data_.prefetched());
  r.whole_sets = c.whole_sets = o.deterministic;
  const auto shards_of = [all = shards, own = all_reduces(o)](std::uint32_t replica) {
    return own ? std::vector{all.at(replica)} : all;
  };
  for (int i = 0; i < o.replicas; ++i) {
    r.index = static_cast<std::uint32_t>(i);
    r.device = devices.of_replica(i, *r.fragment.spec.graph);
    r.shards = shards_of(r.index);
    const auto name = text("replica ", i);
    c.replicas.emplace_back(name, troupe.spawn(name, replica, r));
    const auto& spawned = c.replicas.back().second;
    troupe.observe(spawned, Role::replica);
    troupe.link(batches, spawned);
    for (const auto& shard : r.shards) troupe.link(spawned, shard);
  }
  if (all_reduces(o)) shards.resize(1);  // for those who only read
  c.decoders = pipeline.decoders;
  if (plan_->evaluation) {
    const auto set = o.evaluation.data->in_order().spawn(troupe, "evaluation ", o.seed);
    EvaluatorOptions e;
    e.fragment = *plan_->evaluation;
    e.examples = set.queue;
    e.batch = o.evaluation.data->rows();
    e.device = devices.of_replica(0, *e.fragment.spec.graph);
    e.shards = shards;
    e.leading = plan_->leading;
    e.keeper = keeper;
    e.averages = o.average_decay > 0;
    e.keeps_variables = writer && o.checkpoints.keep_best > 0;
    c.best = comparison(o.evaluation, plan_->evaluation->values);
    c.keeps_best = e.keeps_variables;
    c.answers_best = o.evaluation.answer_best;
    if (begin) go_on_comparing(*c.best, *begin);
    c.evaluator = troupe.spawn("evaluator", evaluator, e);
    c.evaluation_decoders = set.decoders;
    troupe.observe(c.evaluator, Role::evaluator);
    troupe.link(set.queue, c.evaluator);
  }
  if (!o.summary_directory.empty()) {
    SummaryOptions s;
    s.directory = o.summary_directory;
    s.training_names = plan_->fragment.values;
    if (plan_->evaluation) s.evaluation_names = plan_->evaluation->values;
    running_->summaries = c.summaries =
        troupe.spawn<caf::detached>("summary writer", summary_writer, s);
  }

  if (o.publish.to) {
    PublisherOptions p{o.publish,           shards,  plan_->leading, keeper, o.average_decay > 0,
                       running_->summaries, listener};
    running_->publisher = troupe.spawn<caf::detached>("publisher", publisher, p);
    c.summaries = running_->publisher;
  }

  c.shards = shards;
  c.coordinator = coordinator_;
  // All but the conductor, as an actor that holds itself would never end, and but the replicas,
  // which it supervises.
  c.watched = troupe.members();
  std::erase_if(c.watched, [&](const auto& member) {
    return member.first == "conductor" || member.first.rfind("replica ", 0) == 0 ||
           (keeper && member.first != "shard keeper" &&
            (member.first.rfind("shard ", 0) == 0 || member.first.rfind("reducer ", 0) == 0));
  });
  c.keeper = keeper;
  if (all_reduces(o)) c.group = caf::actor_cast<GroupKeeper>(keeper);
  std::vector<caf::actor_addr> vital{coordinator_.address(), batches.address()};
  for (const auto& shard : shards) vital.push_back(shard.address());
  if (keeper) vital.push_back(keeper.address());
  for (const auto& [name, actor] : c.watched)
    if (name.rfind("device ", 0) == 0 ||
        std::find(vital.begin(), vital.end(), actor.address()) != vital.end())
      c.vital.insert(name);
  c.examples = pipeline.queue;
  c.checkpointer = writer;
  c.with_data = with_data;
  c.with_memories = keeps_memory(r);
  c.names = plan_->fragment.values;
  c.evaluate_every = o.evaluation.every;
  c.stop_below = o.evaluation.stop_below;
  c.max_steps = o.max_steps;
  c.total_examples = data_.total_examples();
  c.epoch_examples = data_.epoch_examples();
  c.progress = o.progress;
  c.events = o.events;
  c.interval = o.progress_interval;
  c.patience = o.patience;
  running_->observer = spawn_observer(casting, keeper);
  c.feeder = batches;
  c.restarts = o.restarts;
  c.restarts.seed ^= o.seed;
  if (o.deterministic)
    c.fixed =
        "who takes part when would depend on timing: the replicas of a deterministic run "
        "cannot come and go";
  if (follows_a_recording(o))
    c.fixed = "the replicas of a run that is recorded or replayed cannot come and go";
  r.listener = TrainingListener();  // the conductor must not hold itself
  c.spawn_replica = [&troupe, r, devices, shards_of, leader = listener.address(),
                     observer = running_->observer](std::uint32_t index, const std::string& name,
                                                    const Shard& own) {
    auto options = r;
    options.index = index;
    options.shards = own ? std::vector{own} : shards_of(index);
    options.device = devices.of_replica(static_cast<int>(index), *r.fragment.spec.graph);
    options.listener = caf::actor_cast<TrainingListener>(leader);
    const auto spawned = troupe.system().spawn(replica, options);
    troupe.replace(name, caf::actor_cast<caf::actor>(spawned));
    troupe.tell(observer, assign_atom_v, name, caf::actor_cast<caf::actor>(spawned),
                std::string("replica 0"));
    if (own)
      troupe.tell(observer, assign_atom_v, text("shard ", index), caf::actor_cast<caf::actor>(own),
                  std::string("shard 0"));
    return spawned;
  };
  c.retire = [&troupe](const caf::actor& left) { troupe.retire(left); };
  troupe.tell(running_->observer, start_atom_v);
  {
    const std::lock_guard guard(observer_mutex_);
    observing_ = true;
  }
  TrainingOutcome outcome;
  try {
    outcome = troupe.ask_while<TrainingOutcome>(
        running_->conductor, start_atom_v, [this, asked = false]() mutable {
          if (asked || !stop_requested_.load()) return;
          asked = true;
          running_->troupe.tell(running_->conductor, stop_atom_v);
        });
  } catch (const Error& error) {
    outcome = outcome_without_conductor(casting, error);
  }
  if (running_->publisher && outcome.ending != Ending::failed)
    publish_last(casting, running_->publisher);
  try {
    if (running_->publisher)
      troupe.ask<caf::ok_atom>(running_->publisher, o.patience, stop_atom_v);  // and the summaries
    else if (running_->summaries)
      troupe.ask<caf::ok_atom>(running_->summaries, o.patience, stop_atom_v);
  } catch (const Error& error) {
    // A run that has failed tells why it did, which may be the end of those who are asked here.
    if (outcome.ending != Ending::failed) {
      outcome.ending = Ending::failed;
      outcome.code = error.code();
      outcome.message = text("the last summaries are lost: ", error.what());
    }
  }
  const auto seen = last_observations(casting, running_->observer);
  const std::lock_guard guard(observer_mutex_);
  observing_ = false;
  observations_ = seen;
  return outcome;
}

ObservationsPtr Training::observed() const {
  const std::lock_guard guard(observer_mutex_);
  if (observations_) return observations_;
  if (!observing_)
    fail(Code::failed_precondition,
         "there is nothing to explain before a run, or when its observer is lost");
  return running_->troupe.ask<ObservationsPtr>(running_->observer, options_.patience,
                                               status_atom_v);
}

template <class Answer, class... Words>
Answer Training::ask_conductor(Words... words) {
  const std::shared_lock asking(asking_);
  std::unique_lock lock(mutex_);
  if (!running_ || !running_->conductor)
    fail(Code::failed_precondition, "replicas come and go only while a run goes on");
  const auto conductor = running_->conductor;
  auto& troupe = running_->troupe;
  lock.unlock();
  return troupe.ask<Answer>(conductor, options_.patience, std::move(words)...);
}

std::string Training::add_replica() { return ask_conductor<std::string>(join_atom_v); }

std::string Training::remove_replica(const std::string& name) {
  return ask_conductor<std::string>(leave_atom_v, name);
}

int Training::replicas() { return static_cast<int>(ask_conductor<std::int64_t>(status_atom_v)); }

std::vector<std::string> Training::set_replicas(int count) {
  if (count < 1 || count > kMostOfAKind)
    fail(Code::invalid_argument, "a training run needs at least 1 and at most ", kMostOfAKind,
         " replicas, but ", count, " were asked for");
  std::vector<std::string> changed;
  auto have = replicas();
  for (; have < count; ++have) changed.push_back(add_replica());
  for (; have > count; --have) changed.push_back(remove_replica());
  return changed;
}

template <class Work>
auto Training::with_pipeline(Work work) {
  const std::shared_lock asking(asking_);
  std::unique_lock lock(mutex_);
  if (!running_ || !running_->conductor)
    fail(Code::failed_precondition, "readers and decoders come and go only while a run goes on");
  const PipelineEdits edits(running_->troupe, running_->pipeline);
  const auto conductor = running_->conductor;
  lock.unlock();
  return work(edits, conductor);
}

int Training::readers() {
  return with_pipeline([](const PipelineEdits& edits, const auto&) { return edits.readers(); });
}

int Training::decoders() {
  return with_pipeline([](const PipelineEdits& edits, const auto&) { return edits.decoders(); });
}

template <class Change>
std::vector<std::string> Training::change_pipeline(const char* what, Change change) {
  return with_pipeline([&](const PipelineEdits& edits, const auto& conductor) {
    std::vector<std::string> changed = change(edits);
    for (const auto& [name, actor] : running_->troupe.members())
      for (const std::string kind : {"reader", "decoder"})
        if (name.starts_with(kind))
          running_->troupe.tell(running_->observer, assign_atom_v, name, actor, kind);
    for (const auto& name : changed) caf::anon_send(conductor, log_atom_v, text(name, what));
    return changed;
  });
}

std::string Training::add_reader() {
  return change_pipeline(
      " joins", [](const PipelineEdits& edits) { return std::vector{edits.add_reader()}; })[0];
}

std::string Training::remove_reader(const std::string& name) {
  return change_pipeline(" leaves", [&](const PipelineEdits& edits) {
    return std::vector{edits.remove_reader(name)};
  })[0];
}

std::vector<std::string> Training::set_readers(int count) {
  return change_pipeline(readers() < count ? " joins" : " leaves",
                         [&](const PipelineEdits& edits) { return edits.set_readers(count); });
}

std::string Training::add_decoder() {
  return change_pipeline(
      " joins", [](const PipelineEdits& edits) { return std::vector{edits.add_decoder()}; })[0];
}

std::string Training::remove_decoder() {
  return change_pipeline(
      " leaves", [](const PipelineEdits& edits) { return std::vector{edits.remove_decoder()}; })[0];
}

std::vector<std::string> Training::set_decoders(int count) {
  return change_pipeline(decoders() < count ? " joins" : " leaves",
                         [&](const PipelineEdits& edits) { return edits.set_decoders(count); });
}

std::vector<std::string> Training::members() const {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> names;
  if (running_)
    for (const auto& [name, actor] : running_->troupe.members()) names.push_back(name);
  return names;
}

void Training::kill(const std::string& name) {
  const std::lock_guard guard(mutex_);
  std::string others;
  if (running_)
    for (const auto& [known, actor] : running_->troupe.members()) {
      if (known == name) return caf::anon_send_exit(actor, caf::exit_reason::kill);
      others += text(others.empty() ? "" : ", ", known);
    }
  fail(Code::not_found, "no actor is called '", name, "'; there are: ", others);
}

Explanation Training::explain() const {
  const auto seen = observed();
  const auto budget = options_.threads.resolved();
  RunSettings settings;
  settings.cpus = schedulable_cpus();
  settings.inter_op = budget.inter_op;
  settings.intra_op = budget.intra_op;
  settings.batch = data_.rows();
  settings.synchronous = !make_policy(options_.aggregation.policy)->single_sets();
  settings.all_reduce = all_reduces(options_);
  settings.evaluate_every = options_.evaluation.every;
  settings.checkpoint_every = options_.checkpoints.every;
  return troupe::explain(*seen, settings);
}

std::vector<std::string> Training::stop(std::chrono::milliseconds deadline) {
  if (!running_) return {};
  // A handle keeps the thread of a detached actor, and the system waits for it.
  const std::unique_lock asking(asking_);
  std::unique_lock lock(mutex_);
  running_->conductor = LeadingConductor();
  running_->pipeline = PipelineEditor();
  running_->summaries = SummaryWriter();
  running_->publisher = Publisher();
  {
    const std::lock_guard guard(observer_mutex_);
    observing_ = false;
    running_->observer = Observer();
  }
  coordinator_ = Coordinator();
  lock.unlock();
  auto left = running_->troupe.stop(deadline);
  lock.lock();
  if (left.empty())
    running_.reset();
  else
    running_.release();  // its actors may still run: there is no way to take their memory
  return left;
}

}  // namespace troupe
