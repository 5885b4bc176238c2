#include "troupe/actors/training/option_check.h"

#include <unistd.h>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/actors/training/best_evaluation.h"
#include "troupe/actors/training/loss_scale.h"
#include "troupe/actors/training/policy_check.h"
#include "troupe/actors/training/training_devices.h"

namespace troupe {

void check(const TrainingOptions& o) {
  const auto at_least_one = [](int value, const char* what) {
    if (value < 1 || value > kMostOfAKind)
      fail(Code::invalid_argument, "a training run needs at least 1 and at most ", kMostOfAKind,
           " ", what, "s, but ", value, " were asked for");
  };
  at_least_one(o.replicas, "replica");
  at_least_one(o.shards, "shard");
  at_least_one(o.devices, "device");
  if (!o.device.empty()) (void)device_called(o.device, o.devices);
  constexpr int kMostBackups = 8;
  if (o.backup_shards < 0 || o.backup_shards > kMostBackups)
    fail(Code::invalid_argument, "backup_shards must be in [0, ", kMostBackups, "], but is ",
         o.backup_shards);
  if (!(o.average_decay >= 0 && o.average_decay < 1))
    fail(Code::invalid_argument, "average_decay must be in [0, 1), but is ", o.average_decay);
  if (o.checkpoints.directory.empty() &&
      (o.checkpoints.every > 0 || o.checkpoints.resume || !o.checkpoints.resume_from.empty()))
    fail(Code::invalid_argument,
         "checkpoints.every and checkpoints.resume need a checkpoints.directory");
  const auto& e = o.evaluation;
  if (!(e.min_delta >= 0) || !(o.checkpoints.keep_every_hours >= 0) || o.checkpoints.keep_best < 0)
    fail(Code::invalid_argument, "evaluation.min_delta (", e.min_delta,
         "), checkpoints.keep_every_hours (", o.checkpoints.keep_every_hours,
         ") and checkpoints.keep_best (", o.checkpoints.keep_best, ") may not be negative");
  if ((e.patience > 0 || o.checkpoints.keep_best > 0) && !e.data)
    fail(Code::invalid_argument,
         "evaluation.patience and checkpoints.keep_best need evaluation.data");
  if (o.checkpoints.keep_best > 0 && o.checkpoints.directory.empty())
    fail(Code::invalid_argument, "checkpoints.keep_best needs a checkpoints.directory");
  if (e.answer_best && o.checkpoints.keep_best == 0)
    fail(Code::invalid_argument, "evaluation.answer_best needs checkpoints.keep_best");
  if (o.evaluation.stop_below && !o.evaluation.data)
    fail(Code::invalid_argument, "evaluation.stop_below needs evaluation.data");
  for (const auto& [key, value] : o.labels)
    if (belongs_to_data(key) || key == kBestEvaluation)
      fail(Code::invalid_argument, "no label is called '", key,
           "': checkpoints have something else by that name");
  validate(o.restarts);
  const auto& a = o.aggregation;
  if (a.accumulate < 1)
    fail(Code::invalid_argument, "aggregation.accumulate must be at least 1, but is 0");
  if (!(a.clip_norm >= 0) || std::isinf(a.clip_norm))
    fail(Code::invalid_argument, "aggregation.clip_norm must be at least 0, but is ", a.clip_norm);
  if (o.deterministic && a.leave_out_late)
    fail(Code::invalid_argument,
         "which replicas are late depends on timing: "
         "aggregation.leave_out_late cannot be deterministic");
  if (o.publish.every > 0 && !o.publish.to)
    fail(Code::invalid_argument, "publish.every needs publish.to: who gets the weights");
}

void check_memory(std::uint64_t bound) {
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  const auto memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  if (bound > memory)
    fail(Code::resource_exhausted, "data in flight could take ", bound,
         " bytes, but the machine has ", memory,
         ": choose a smaller batch, queue capacity or number of replicas");
}

void check_fit(const Model& model, const Batches& batches, const char* which) {
  const auto components = batches.components();
  if (components.size() != model.inputs.size())
    fail(Code::invalid_argument, "the ", which, " model has ", model.inputs.size(),
         " inputs, but its data have ", components.size(), " components");
  for (std::size_t i = 0; i < components.size(); ++i) {
    const auto& input = model.inputs[i];
    const auto shape = components[i].shape.with_first(Shape::kUnknown);
    if (components[i].dtype != input.dtype() || !compatible(shape, input.shape()))
      fail(Code::invalid_argument, "input '", input.name(), "' of the ", which, " model is ",
           input.spec(), ", but component ", i, " of its data is ",
           TensorSpec{components[i].dtype, shape});
  }
}

}  // namespace troupe
