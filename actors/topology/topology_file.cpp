#include "troupe/actors/topology/topology_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "troupe/actors/aggregation/compression.h"
#include "troupe/actors/allreduce/reduction.h"
#include "troupe/actors/ensemble/combiner.h"
#include "troupe/actors/pipeline/option_map.h"
#include "troupe/actors/pipeline/pipeline_file.h"
#include "troupe/actors/pipeline/pipeline_of.h"
#include "troupe/actors/topology/file_words.h"
#include "troupe/actors/topology/model_file.h"
#include "troupe/actors/training/policy_check.h"
#include "troupe/actors/training/training_devices.h"
#include "troupe/messages/proto/topology.pb.h"
#include "troupe/ops/autocast.h"

namespace troupe {
namespace {

constexpr std::int64_t kMostActors = 1024;
constexpr double kMostSeconds = 86400;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::llround(1000 * seconds)));
}

/// A TopologyFile that may still lack its data.
struct Draft {
  std::string name;
  TrainingOptions options;
  ModelFunction model;
  std::optional<StagedTopology> stages;
  std::optional<EnsembleTopology> ensemble;
};

class FileReader {
 public:
  FileReader(const Located<proto::Topology>& file, std::string path, FileProblems& problems)
      : file_(file), path_(std::move(path)), directory_(directory_of(path_)), problems_(problems) {}

  TopologyFile read() {
    Draft made;
    made.name = name();
    read_options(made.options);
    const auto data =
        read_data(file_, "a topology has data { ... }, or data_file: \"a pipeline file\"");
    read_evaluation(made.options, data);
    if (file_->has_ensemble())
      read_ensemble(made, data);
    else
      read_one_model(made, data);
    problems_.expect_none();
    return {path_, made.name, *data, made.model, made.options, made.stages, made.ensemble};
  }

 private:
  std::string name() {
    if (file_->name().empty()) return std::filesystem::path(path_).stem().string();
    const auto& name = file_->name();
    if (name.find('/') != std::string::npos || name[0] == '.')
      refuse(file_.place("name"), "name is that of a directory: it has no '/' and no '.' in front");
    return name;
  }

  template <class... Parts>
  void refuse(const std::string& place, const Parts&... parts) {
    problems_.add(Code::invalid_argument, text(place, ": ", parts...));
  }

  // ---- data ----------------------------------------------------------------------------------

  /// Of the topology itself or of its evaluation.
  template <class Message>
  std::optional<Batches> read_data(const Located<Message>& part, const char* what_is_missing) {
    std::optional<Batches> data;
    if (part->has_data() == !part->data_file().empty()) {
      refuse(part->has_data() ? part.place("data_file") : part.place(),
             part->has_data() ? "there are data { ... } already" : what_is_missing);
    } else if (part->has_data()) {
      const auto pipeline = part.inside("data", part->data());
      problems_.attempt(pipeline.place(), [&] { data = pipeline_of(pipeline, directory_); });
    } else {
      OptionMap paths;
      paths.set_directory(directory_);
      const auto path = paths.path(part->data_file());
      try {
        data = read_pipeline(path);
      } catch (const Error& error) {
        problems_.add(error.code(), text(part.place("data_file"), ": ", error.what()));
      }
    }
    return data;
  }

  void read_evaluation(TrainingOptions& o, const std::optional<Batches>& data) {
    if (!file_->has_evaluation()) return;
    const auto evaluation = file_.inside("evaluation", file_->evaluation());
    o.evaluation.data =
        read_data(evaluation, "an evaluation has data { ... }, or data_file: \"a pipeline file\"");
    o.evaluation.every = evaluation->every();
    if (!evaluation->best_by().empty()) o.evaluation.best_by = evaluation->best_by();
    o.evaluation.larger_is_better = evaluation->larger_is_better();
    field(evaluation, "min_delta", [&] {
      constexpr double kMost = 1e30;
      o.evaluation.min_delta =
          in_range(evaluation, "min_delta", evaluation->min_delta(), 0.0, kMost);
    });
    o.evaluation.patience = evaluation->patience();
    o.evaluation.answer_best = evaluation->answer_best();
    if (evaluation->has_stop_below()) {
      o.evaluation.stop_below = evaluation->stop_below();
      if (!std::isfinite(evaluation->stop_below()))
        refuse(evaluation.place("stop_below"), "stop_below is a number, but is ",
               evaluation->stop_below());
    }
    if (!data || !o.evaluation.data) return;
    const auto& wanted = data->components();
    const auto& given = o.evaluation.data->components();
    if (given.size() != wanted.size())
      return refuse(evaluation.place(), "the data have ", wanted.size(),
                    " components, but those of the evaluation ", given.size());
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i].dtype != wanted[i].dtype || !compatible(given[i].shape, wanted[i].shape))
        refuse(evaluation.place(), "component ", i, " of the data is ", wanted[i],
               ", but that of the evaluation ", given[i]);
  }

  // ---- options -------------------------------------------------------------------------------

  template <class Message, class Work>
  void field(const Located<Message>& message, const char* name, Work work) {
    problems_.attempt(message.place(name), work);
  }

  void read_optimizer(const std::string& place, const std::string& given, OptimizerConfig& to) {
    if (!given.empty())
      problems_.attempt(place, [&] { to = Optimizer(parse_optimizer(given)).config(); });
  }
  void read_schedule(const std::string& place, const std::string& given, Schedule& to) {
    if (!given.empty()) problems_.attempt(place, [&] { to = parse_schedule(given); });
  }

  void read_options(TrainingOptions& o) {
    read_optimizer(file_.place("optimizer"), file_->optimizer(), o.optimizer);
    read_schedule(file_.place("learning_rate"), file_->learning_rate(), o.learning_rate);
    const auto count = [&](const char* name, bool given, std::int64_t value, int& to) {
      if (given)
        field(file_, name, [&] {
          to = static_cast<int>(in_range(file_, name, value, std::int64_t{1}, kMostActors));
        });
    };
    count("replicas", file_->has_replicas(), file_->replicas(), o.replicas);
    count("shards", file_->has_shards(), file_->shards(), o.shards);
    o.deterministic = file_->deterministic();
    if (!file_->precision().empty())
      field(file_, "precision", [&] {
        const auto precision = parse_dtype(file_->precision());
        const AutocastScope known(precision);
        o.precision = precision;
      });
    if (file_->has_loss_scale()) o.loss_scale.initial = file_->loss_scale();
    if (!file_->placement().empty())
      field(file_, "placement",
            [&] { o.placement = parse_variable_placement(file_->placement()); });
    if (file_->has_average_decay()) {
      o.average_decay = file_->average_decay();
      if (!(o.average_decay >= 0 && o.average_decay < 1))
        refuse(file_.place("average_decay"), "average_decay is ", o.average_decay,
               "; it is at least 0 and below 1");
    }
    o.max_shard_bytes = file_->max_shard_bytes();
    if (file_->has_tables()) {
      if (file_->tables().has_from_bytes()) o.tables.from_bytes = file_->tables().from_bytes();
      o.tables.none = file_->tables().none();
    }
    if (file_->has_devices())
      field(file_, "devices", [&] {
        o.devices = static_cast<int>(
            in_range(file_, "devices", file_->devices(), std::int64_t{1}, kMostActors));
      });
    if (file_->has_backup_shards())
      field(file_, "backup_shards", [&] {
        constexpr std::int64_t kMost = 8;
        o.backup_shards = static_cast<int>(
            in_range(file_, "backup_shards", file_->backup_shards(), std::int64_t{0}, kMost));
      });
    read_threads(o.threads);
    if (file_->has_seed()) o.seed = file_->seed();
    o.max_steps = file_->max_steps();
    o.gradient_norm = file_->gradient_norm();
    read_aggregation(o);
    read_restarts(o.restarts);
    read_checkpoints(o.checkpoints);
    o.summary_directory = file_->summary_directory();
    for (const auto& [key, value] : file_->labels()) o.labels[key] = value;
    seconds(file_, "progress_interval", file_->has_progress_interval(), file_->progress_interval(),
            o.progress_interval);
    seconds(file_, "patience", file_->has_patience(), file_->patience(), o.patience);
  }

  template <class Message>
  void seconds(const Located<Message>& message, const char* name, bool given, double value,
               std::chrono::milliseconds& to) {
    if (given)
      field(message, name, [&] {
        constexpr double kLeast = 0.001;
        to = milliseconds(in_range(message, name, value, kLeast, kMostSeconds));
      });
  }

  void read_threads(ThreadBudget& to) {
    const auto threads = file_.inside("threads", file_->threads());
    const auto number = [&](const char* name, std::int64_t value, int& number) {
      field(threads, name, [&] {
        number = static_cast<int>(in_range(threads, name, value, std::int64_t{0}, kMostActors));
      });
    };
    number("inter_op", threads->inter_op(), to.inter_op);
    number("intra_op", threads->intra_op(), to.intra_op);
  }

  void read_aggregation(TrainingOptions& o) {
    const auto a = file_.inside("aggregation", file_->aggregation());
    auto& to = o.aggregation;
    if (!a->policy().empty()) to.policy = a->policy();
    if (a->has_accumulate())
      field(a, "accumulate", [&] {
        constexpr std::int64_t kMost = 1'000'000;
        to.accumulate = static_cast<std::uint32_t>(
            in_range(a, "accumulate", a->accumulate(), std::int64_t{1}, kMost));
      });
    field(a, "clip_norm", [&] {
      constexpr double kLargest = 1e30;
      to.clip_norm = in_range(a, "clip_norm", a->clip_norm(), 0.0, kLargest);
    });
    if (!a->not_finite().empty())
      field(a, "not_finite", [&] { to.not_finite = parse_not_finite(a->not_finite()); });
    field(a, "round_deadline", [&] {
      to.round_deadline =
          milliseconds(in_range(a, "round_deadline", a->round_deadline(), 0.0, kMostSeconds));
    });
    if (!a->compression().empty())
      field(a, "compression",
            [&] { to.compression = to_string(GradientCompression::parse(a->compression())); });
    if (!a->all_reduce().empty() && a->all_reduce() != "none")
      field(a, "all_reduce", [&] { to.all_reduce = to_string(parse_all_reduce(a->all_reduce())); });
    to.leave_out_late = a->leave_out_late();
    to.record = a->record();
    to.replay = a->replay();
    if (!to.record.empty() && !to.replay.empty())
      refuse(a.place("replay"), "a run is recorded or replayed, but not both");
    if (to.leave_out_late && o.deterministic)
      refuse(a.place("leave_out_late"),
             "which replicas are late depends on timing: leave_out_late cannot be deterministic");
    for (int i = 0; i < a->group_size(); ++i) {
      const auto group = a.inside("group", a->group(i), i);
      if (group->variables().empty() || group->policy().empty())
        return refuse(group.place(), "a group has variables and a policy: group { variables: ",
                      "\"embedding/*\" policy: \"async\" }");
      to.groups.push_back({group->variables(), group->policy()});
    }
    for (const auto& [option, group, error] : policy_problems(o, to.policy))
      problems_.add(error.code(), text(place_of(a, option, group), ": ", error.what()));
  }

  /// Of an option by the name that programs call it.
  std::string place_of(const Located<proto::Aggregation>& a, const std::string& option,
                       int group) const {
    constexpr std::string_view kInside = "aggregation.";
    if (group >= 0) return a.place("group", group);
    return option.starts_with(kInside) ? a.place(option.c_str() + kInside.size())
                                       : file_.place(option.c_str());
  }

  /// Complains about groups that do not fit the variables of a model.
  void expect_groups_fit(const TrainingOptions& o, const ModelFunction& function) {
    const auto& groups = o.aggregation.groups;
    if (groups.empty() || !function) return;
    const auto a = file_.inside("aggregation", file_->aggregation());
    std::vector<std::string> names;
    const auto model = function(true);
    for (const auto& variable : model.graph->variables()) names.push_back(variable.name());
    std::vector<PolicyGroup> before;
    for (int i = 0; i < static_cast<int>(groups.size()); ++i) {
      before.push_back(groups[static_cast<std::size_t>(i)]);
      if (!problems_.attempt(a.place("group", i), [&] { (void)groups_of(names, before); })) return;
    }
  }

  void read_restarts(RestartOptions& to) {
    const auto r = file_.inside("restarts", file_->restarts());
    if (r->has_most())
      field(r, "most", [&] {
        constexpr std::int64_t kMost = 1'000'000;
        to.most = static_cast<int>(in_range(r, "most", r->most(), std::int64_t{0}, kMost));
      });
    seconds(r, "period", r->has_period(), r->period(), to.period);
    seconds(r, "delay", r->has_delay(), r->delay(), to.delay);
    seconds(r, "longest_delay", r->has_longest_delay(), r->longest_delay(), to.longest_delay);
    if (r->has_jitter())
      field(r, "jitter", [&] { to.jitter = in_range(r, "jitter", r->jitter(), 0.0, 1.0); });
    if (r->has_seed()) to.seed = r->seed();
  }

  void read_checkpoints(CheckpointOptions& to) {
    if (!file_->has_checkpoints()) return;
    const auto c = file_.inside("checkpoints", file_->checkpoints());
    to.directory = c->directory();
    to.every = c->every();
    to.resume = c->resume();
    to.resume_from = c->resume_from();
    if (c->has_keep())
      field(c, "keep", [&] {
        constexpr std::int64_t kMost = 1'000'000;
        to.keep = static_cast<int>(in_range(c, "keep", c->keep(), std::int64_t{0}, kMost));
      });
    if (c->has_keep_best())
      field(c, "keep_best", [&] {
        constexpr std::int64_t kMost = 1'000'000;
        to.keep_best =
            static_cast<int>(in_range(c, "keep_best", c->keep_best(), std::int64_t{0}, kMost));
      });
    field(c, "keep_every_hours", [&] {
      constexpr double kMost = 1e6;
      to.keep_every_hours = in_range(c, "keep_every_hours", c->keep_every_hours(), 0.0, kMost);
    });
    if (c->has_data()) to.data = c->data();
    to.data_from_start = c->data_from_start();
    if (to.resume && !to.resume_from.empty())
      refuse(c.place("resume_from"), "resume says already to go on from the newest one");
  }

  // ---- models --------------------------------------------------------------------------------

  /// Whether layers can be put on these data: batches of an input and labels.
  bool fits_layers(const std::string& place, const std::optional<Batches>& data) {
    if (!data) return false;
    const auto& components = data->components();
    if (components.size() == 2) return true;
    refuse(place, "layers need data of an input and labels, but these have ", components.size(),
           components.size() == 1 ? " component" : " components");
    return false;
  }

  /// The model on these data. Builds it, to see whether it can be built.
  ModelFunction fitted(const std::string& place, const FileModel& model,
                       const std::optional<Batches>& data, bool evaluated,
                       const std::vector<std::size_t>& ends = {}) {
    ModelFunction function;
    if (!model.program && !fits_layers(place, data)) return function;
    const bool good = problems_.attempt(place, [&] {
      function = model.program ? model.program
                               : model.function(data->components()[0], data->components()[1], ends);
      const auto built = function(true);
      validate(built);
      if (data) expect_fit(built, *data);
      if (evaluated) validate(function(false));
    });
    return good ? function : ModelFunction();
  }

  static void expect_fit(const Model& model, const Batches& data) {
    const auto& components = data.components();
    if (components.size() != model.inputs.size())
      fail(Code::invalid_argument, "the model has ", model.inputs.size(),
           " inputs, but the data have ", components.size(), " components");
    for (std::size_t i = 0; i < components.size(); ++i) {
      const auto& input = model.inputs[i];
      const TensorSpec given{components[i].dtype, components[i].shape.with_first(Shape::kUnknown)};
      if (given.dtype != input.dtype() || !compatible(given.shape, input.shape()))
        fail(Code::invalid_argument, "input '", input.name(), "' of the model is ", input.spec(),
             ", but component ", i, " of the data is ", given);
    }
  }

  void read_one_model(Draft& made, const std::optional<Batches>& data) {
    if (!file_->has_model())
      return refuse(file_.place(), "a topology has a model { ... }, or an ensemble { ... }");
    const auto located = file_.inside("model", file_->model());
    const auto model = read_model(located, directory_, problems_);
    if (file_->has_stages()) return read_stages(made, model, data);
    if (!model) return;
    made.model = fitted(located.place(), *model, data, made.options.evaluation.data.has_value());
    expect_groups_fit(made.options, made.model);
  }

  // ---- stages --------------------------------------------------------------------------------

  void read_stages(Draft& made, const std::optional<FileModel>& model,
                   const std::optional<Batches>& data) {
    const auto stages = file_.inside("stages", file_->stages());
    StagedTopology staged;
    auto& o = staged.options;
    o.optimizer = made.options.optimizer;
    o.learning_rate = made.options.learning_rate;
    o.threads = made.options.threads;
    o.seed = made.options.seed;
    o.max_steps = made.options.max_steps;
    o.deterministic = made.options.deterministic;
    o.checkpoints = made.options.checkpoints;
    if (!stages->schedule().empty())
      field(stages, "schedule", [&] { o.schedule = parse_stage_schedule(stages->schedule()); });
    if (stages->has_micro_batches())
      field(stages, "micro_batches", [&] {
        constexpr std::int64_t kMost = 4096;
        o.micro_batches = static_cast<int>(
            in_range(stages, "micro_batches", stages->micro_batches(), std::int64_t{1}, kMost));
      });
    refuse_without_replicas();
    if (!model) return;
    if (model->program)
      return refuse(stages.place(), "a program cannot be cut, only layers: say what the model is ",
                    "made of, with layer { ... }");
    const auto ends = stage_ends(stages, *model);
    if (!ends) return;
    made.model =
        fitted(file_.place("model"), *model, data, made.options.evaluation.data.has_value(), *ends);
    if (!made.model) return;
    const auto with_rows = [](const TensorSpec& spec) {
      return TensorSpec{spec.dtype, spec.shape.with_first(Shape::kUnknown)};
    };
    staged.model.input = with_rows(data->components()[0]);
    staged.model.labels = with_rows(data->components()[1]);
    staged.model.loss = model->loss.of;
    std::size_t begin = 0;
    for (const auto end : *ends) {
      staged.model.stages.push_back(
          [layers = *model, begin, end](Output x) { return layers.apply(x, true, begin, end); });
      std::string names;
      for (; begin < end; ++begin) {
        const auto& layer = model->layers[begin];
        names += (names.empty() ? "" : ", ") + (layer.name.empty() ? layer.kind : layer.name);
      }
      staged.layers.push_back(names);
    }
    problems_.attempt(stages.place(), [&] { (void)cut_into_stages(staged.model, o.seed); });
    made.stages = std::move(staged);
  }

  /// Behind how many layers each stage ends.
  std::optional<std::vector<std::size_t>> stage_ends(const Located<proto::Stages>& stages,
                                                     const FileModel& model) {
    std::vector<std::string> names;
    for (const auto& layer : model.layers)
      if (!layer.name.empty()) names.push_back(layer.name);
    std::vector<std::size_t> ends;
    if (stages->cut_after().empty()) {
      refuse(stages.place(), "say behind which layers the model is cut: cut_after: \"conv1\"");
      return std::nullopt;
    }
    for (int i = 0; i < stages->cut_after_size(); ++i) {
      const auto& name = stages->cut_after(i);
      const auto place = stages.place("cut_after", i);
      const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                      [&](const auto& layer) { return layer.name == name; });
      const auto end = static_cast<std::size_t>(found - model.layers.begin()) + 1;
      if (name.empty() || found == model.layers.end())
        refuse(place, "no layer is called '", name, "'", suggestion(name, names));
      else if (!ends.empty() && end <= ends.back())
        refuse(place, "layer '", name, "' does not come after the cut before it");
      else if (end == model.layers.size())
        refuse(place, "nothing comes after the last layer: cut before it");
      else
        ends.push_back(end);
    }
    if (ends.size() != static_cast<std::size_t>(stages->cut_after_size())) return std::nullopt;
    ends.push_back(model.layers.size());
    return ends;
  }

  /// Complains about what stages do not have.
  void refuse_without_replicas() {
    const auto without = [&](const char* name, bool given) {
      if (given)
        refuse(file_.place(name), "a model that is cut into stages has no ", name,
               ": leave it out");
    };
    without("replicas", file_->has_replicas());
    without("shards", file_->has_shards());
    without("aggregation", file_->has_aggregation());
    without("placement", !file_->placement().empty());
    without("average_decay", file_->has_average_decay());
    without("max_shard_bytes", file_->max_shard_bytes() > 0);
    without("tables", file_->has_tables());
    without("backup_shards", file_->has_backup_shards());
    without("devices", file_->has_devices());
    without("restarts", file_->has_restarts());
    without("gradient_norm", file_->gradient_norm());
    without("precision", !file_->precision().empty());
    without("loss_scale", file_->has_loss_scale());
    without("summary_directory", !file_->summary_directory().empty());
    const auto c = file_.inside("checkpoints", file_->checkpoints());
    if (c->keep_best() > 0)
      refuse(c.place("keep_best"), "a model that is cut into stages is not evaluated while it is ",
             "trained: leave keep_best out");
    const auto e = file_.inside("evaluation", file_->evaluation());
    if (e->every() > 0 || e->has_stop_below())
      refuse(e.place(), "a model that is cut into stages is evaluated at the end: leave every and ",
             "stop_below out");
  }

  // ---- ensembles -----------------------------------------------------------------------------

  void read_ensemble(Draft& made, const std::optional<Batches>& data) {
    const auto located = file_.inside("ensemble", file_->ensemble());
    if (file_->has_model())
      refuse(file_.place("model"), "members of an ensemble have models of their own");
    if (file_->has_stages()) refuse(file_.place("stages"), "stages cut a model, not an ensemble");
    EnsembleTopology ensemble;
    auto& o = ensemble.options;
    o.name = made.name;
    ensemble.combiner = located->combiner().empty() ? "mean" : located->combiner();
    field(located, "combiner", [&] { o.combiner = combiner_named(ensemble.combiner); });
    if (located->has_quorum()) o.quorum = located->quorum();
    if (located->has_deadline())
      seconds(located, "deadline", true, located->deadline(), o.deadline);
    o.first_quorum = located->first_quorum();
    if (located->has_max_outstanding()) o.max_outstanding = located->max_outstanding();
    problems_.attempt(located.place(), [&] { validate(o); });
    if (located->member().empty())
      refuse(located.place(), "an ensemble has members: member { name: \"a\" model { ... } }");
    if (o.quorum > located->member_size())
      refuse(located.place("quorum"), "quorum is ", o.quorum, ", but there are ",
             located->member_size(), " members");
    if (!made.options.checkpoints.resume_from.empty())
      refuse(file_.place("checkpoints"), "resume_from is one checkpoint, but every member has its ",
             "own: use checkpoint in member");
    std::set<std::string> names;
    for (int i = 0; i < located->member_size(); ++i)
      read_member(located.inside("member", located->member(i), i), made, data, ensemble, names);
    made.ensemble = std::move(ensemble);
  }

  void read_member(const Located<proto::Member>& member, const Draft& made,
                   const std::optional<Batches>& data, EnsembleTopology& ensemble,
                   std::set<std::string>& names) {
    EnsembleTopology::Member to;
    to.name = member->name();
    if (to.name.empty() || to.name.find('/') != std::string::npos || to.name[0] == '.')
      refuse(member.place("name"), "a member has a name, without '/' and without '.' in front");
    else if (!names.insert(to.name).second)
      refuse(member.place("name"), "there is a member called '", to.name, "' already");
    to.checkpoint = member->checkpoint();
    to.options = made.options;
    auto& o = to.options;
    if (!o.checkpoints.directory.empty()) o.checkpoints.directory += "/" + to.name;
    if (!o.summary_directory.empty()) o.summary_directory += "/" + to.name;
    if (member->has_weight())
      field(member, "weight", [&] {
        constexpr double kMost = 1e9;
        to.weight = in_range(member, "weight", member->weight(), 0.0, kMost);
      });
    read_optimizer(member.place("optimizer"), member->optimizer(), o.optimizer);
    read_schedule(member.place("learning_rate"), member->learning_rate(), o.learning_rate);
    if (member->max_steps() > 0) o.max_steps = member->max_steps();
    if (!member->device().empty())
      field(member, "device", [&] {
        (void)device_called(member->device(), o.devices);
        o.device = member->device();
      });
    // The same weights at the beginning would make members too much alike.
    o.seed = member->has_seed() ? member->seed() : o.seed + names.size() - 1;
    if (!member->has_model()) return refuse(member.place(), "a member has a model { ... }");
    const auto located = member.inside("model", member->model());
    const auto model = read_model(located, directory_, problems_);
    if (!model) return;
    if (ensemble.combiner == "probability" && !model->program && model->softmax)
      refuse(located.place(), "combiner 'probability' takes logits, but the predictions of '",
             to.name, "' are probabilities: write predictions: \"logits\", or combiner: \"mean\"");
    to.model = fitted(located.place(), *model, data, o.evaluation.data.has_value());
    expect_groups_fit(o, to.model);
    ensemble.members.push_back(std::move(to));
  }

  const Located<proto::Topology>& file_;
  const std::string path_;
  const std::string directory_;
  FileProblems& problems_;
};

}  // namespace

TopologyFile parse_topology(const std::string& given, const std::string& path,
                            const std::vector<FileSetting>& settings) {
  proto::Topology message;
  TextPlaces places(path);
  FileProblems problems;
  const bool whole = places.parse(given, message, problems);
  if (!whole) problems.expect_none();  // what is missing behind it is not to be told
  for (const auto& setting : settings) places.set(setting, message, problems);
  const Located<proto::Topology> file(message, places, text(path, ":1:1"));
  return FileReader(file, path, problems).read();
}

TopologyFile read_topology(const std::string& path, const std::vector<FileSetting>& settings) {
  return parse_topology(read_small_file(path), path, settings);
}

}  // namespace troupe
