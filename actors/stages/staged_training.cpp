#include "troupe/actors/stages/staged_training.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "troupe/actors/checkpoint/checkpointer.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/actors/stages/stage.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/resume_point.h"
#include "troupe/devices/cpu_device.h"

namespace troupe {
namespace {

constexpr std::chrono::minutes kPatience{10};
constexpr int kMostMicroBatches = 4096;

void check_component(const TensorSpec& wanted, const Batches& data, std::size_t index,
                     const char* what) {
  const auto component = data.components().at(index);
  const TensorSpec given{component.dtype, component.shape.with_first(Shape::kUnknown)};
  if (given.dtype != wanted.dtype || !compatible(given.shape, wanted.shape))
    fail(Code::invalid_argument, "the ", what, " of the model are ", wanted, ", but component ",
         index, " of the data is ", given);
}

void check(const CheckpointOptions& o) {
  if (o.directory.empty() && (o.every > 0 || o.resume || !o.resume_from.empty()))
    fail(Code::invalid_argument,
         "checkpoints.every and checkpoints.resume need a checkpoints.directory");
  if (o.keep_best > 0)
    fail(Code::invalid_argument,
         "stages are not evaluated while they are trained: checkpoints.keep_best must be 0");
  if (!(o.keep_every_hours >= 0))
    fail(Code::invalid_argument, "checkpoints.keep_every_hours may not be negative, but is ",
         o.keep_every_hours);
}

/// The data as the checkpoint has them, if they are to go on from there. Says when they do not.
std::optional<DataState> data_to_resume(const Checkpoint& checkpoint,
                                        const StagedTrainingOptions& o) {
  if (o.checkpoints.data_from_start) return std::nullopt;
  auto data = read_data(checkpoint);
  if (data && !data->outstanding.empty())
    fail(Code::failed_precondition, checkpoint.name(),
         " was made by a run of replicas: ", data->outstanding.size(),
         " batches were with them, which stages cannot go on with. Read ",
         "the data from the beginning (checkpoints.data_from_start)");
  if (!data && o.events) {
    const auto why = why_no_data(checkpoint.manifest());
    o.events(text(checkpoint.name(), " has no data in it", why.empty() ? "" : " (" + why + ")",
                  ": they are read from the beginning"));
  }
  return data;
}

std::uint64_t bytes_of(const StageProgram& program) {
  std::uint64_t bytes = 0;
  for (const auto& variable : program.variables) bytes += variable.initial.byte_size();
  return bytes;
}

}  // namespace

struct StagedTraining::Running {
  explicit Running(ThreadBudget budget) : troupe(budget) {}
  Troupe troupe;
  std::vector<Stage> stages;
};

StagedTraining::StagedTraining(const StagedModel& model, Batches data,
                               StagedTrainingOptions options)
    : data_(std::move(data)),
      options_(std::move(options)),
      programs_(cut_into_stages(model, options_.seed)) {
  if (options_.micro_batches < 1 || options_.micro_batches > kMostMicroBatches)
    fail(Code::invalid_argument, "a batch is cut into 1 to ", kMostMicroBatches,
         " micro-batches, but ", options_.micro_batches, " were asked for");
  if (data_.components().size() != 2)
    fail(Code::invalid_argument,
         "a model that is cut takes batches of an input and labels, but "
         "the data have ",
         data_.components().size(), " components");
  check(options_.checkpoints);
  if (options_.deterministic) data_ = data_.in_order();
  check_component(model.input, data_, 0, "inputs");
  check_component(model.labels, data_, 1, "labels");
}

StagedTraining::~StagedTraining() = default;

std::string StagedTraining::describe() const {
  std::ostringstream out;
  const auto stages = programs_.size();
  const auto micro_batches = static_cast<std::size_t>(options_.micro_batches);
  const bool gpipe = options_.schedule == StageSchedule::gpipe;
  out << data_.describe() << "\n  -> " << stages << " stages, " << micro_batches
      << " micro-batches a step, " << (gpipe ? "gpipe" : "1f1b") << '\n';
  for (std::size_t i = 0; i < stages; ++i)
    out << "  stage " << i << ": " << programs_[i].variables.size() << " variables, "
        << bytes_of(programs_[i]) << " bytes, at most "
        << (i + 1 == stages ? 1
            : gpipe         ? micro_batches
                            : std::min(stages - i, micro_batches))
        << " micro-batches under way\n";
  out << "  waits for the first and the last micro-batch "
      << 100 * (stages - 1) / (micro_batches + stages - 1) << " % of the time at best";
  return out.str();
}

TrainingOutcome StagedTraining::run() {
  if (running_) fail(Code::failed_precondition, "StagedTraining::run() may be called once");
  running_ = std::make_unique<Running>(options_.threads);
  auto& troupe = running_->troupe;
  const auto& o = options_;
  const auto begin = checkpoint_to_resume(o.checkpoints);
  if (begin) check_labels(*begin, o.labels);
  const auto data_before = begin ? data_to_resume(*begin, o) : std::nullopt;
  const auto seed = data_before ? data_before->seed : o.seed;
  const auto pipeline =
      data_.spawn(troupe, "", seed, data_before ? &data_before->pipeline : nullptr);
  if (o.events)
    for (const auto& note : pipeline.notes) o.events(note);
  std::vector<StagePort> ports;
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    CpuDeviceOptions d;
    d.name = text("/device:CPU:", i);
    d.intra_op = options_.threads.resolved().intra_op;
    d.inter_op = 1;
    StageOptions s;
    s.index = static_cast<std::uint32_t>(i);
    s.stages = static_cast<std::uint32_t>(programs_.size());
    s.program = programs_[i];
    s.device = troupe.spawn(text("device CPU:", i), cpu_device, d);
    s.schedule = options_.schedule;
    s.optimizer = options_.optimizer;
    s.learning_rate = options_.learning_rate;
    running_->stages.push_back(troupe.spawn(text("stage ", i), stage, s));
    ports.push_back(caf::actor_cast<StagePort>(running_->stages.back()));
  }
  for (const auto& each : running_->stages)
    troupe.ask<caf::ok_atom>(each, kPatience, join_atom_v, ports);
  StageLeaderOptions l;
  if (begin) {
    const auto snapshot = read_snapshot(*begin);
    for (const auto& each : running_->stages)
      troupe.ask<caf::ok_atom>(each, kPatience, restore_atom_v, snapshot);
    l.first_step = snapshot.version;
    l.resumed_data = data_before.has_value();
  }
  if (!o.checkpoints.directory.empty()) {
    CheckpointerOptions w;
    w.writer = checkpoint_writer(o.checkpoints);
    w.shards = static_cast<std::uint32_t>(programs_.size());
    w.state = o.labels;
    l.checkpointer = troupe.spawn<caf::detached>("checkpointer", checkpointer, w);
    l.every = o.checkpoints.every;
    if (o.checkpoints.data) l.keeper = pipeline.keeper;
    l.data.seed = seed;
    l.data.rows = data_.rows();
    l.data.trained = data_before ? data_before->trained : 0;
  }
  l.stages = running_->stages;
  l.decoders = pipeline.decoders;
  l.examples = pipeline.queue;
  l.rows = data_.rows();
  l.drop_remainder = data_.remainder() == Remainder::drop;
  l.micro_batches = static_cast<std::uint32_t>(options_.micro_batches);
  l.max_steps = options_.max_steps;
  l.seed = options_.seed;
  l.listener = options_.listener;
  l.events = options_.events;
  l.watched = troupe.members();
  const auto leader = troupe.spawn("stage leader", stage_leader, l);
  return troupe.ask_while<TrainingOutcome>(leader, start_atom_v,
                                           [this, leader, asked = false]() mutable {
                                             if (asked || !stop_requested_.load()) return;
                                             asked = true;
                                             running_->troupe.tell(leader, stop_atom_v);
                                           });
}

std::vector<ShardSnapshot> StagedTraining::snapshots() {
  if (!running_) fail(Code::failed_precondition, "there are no snapshots before a run");
  std::vector<ShardSnapshot> all;
  for (const auto& each : running_->stages)
    all.push_back(running_->troupe.ask<ShardSnapshot>(each, kPatience, snapshot_atom_v));
  return all;
}

std::string StagedTraining::save(const std::string& directory,
                                 const std::map<std::string, std::string>& state) {
  const auto all = snapshots();
  CheckpointerOptions o;
  o.writer = std::make_shared<CheckpointWriter>(directory);
  o.shards = static_cast<std::uint32_t>(all.size());
  o.state = state;
  auto& troupe = running_->troupe;
  const auto writer = troupe.spawn<caf::detached>("checkpointer", checkpointer, o);
  return troupe.ask<SavedCheckpoint>(writer, kPatience, save_atom_v, all).path;
}

}  // namespace troupe
