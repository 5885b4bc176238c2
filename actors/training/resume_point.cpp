#include "troupe/actors/training/resume_point.h"

#include <filesystem>

#include "troupe/actors/checkpoint/checkpoint_directory.h"

namespace troupe {

std::optional<Checkpoint> checkpoint_to_resume(const CheckpointOptions& o) {
  const auto latest = CheckpointDirectory(o.directory).latest();
  if (!o.resume_from.empty()) {
    auto checkpoint = Checkpoint::open(o.resume_from);
    if (latest && (*latest != checkpoint.step() ||
                   !std::filesystem::equivalent(o.directory, checkpoint.directory())))
      fail(Code::already_exists, o.directory, " has other checkpoints, up to step ", *latest,
           ", which those after ", checkpoint.name(),
           " must not be mixed with: choose another "
           "directory");
    return checkpoint;
  }
  if (o.resume && !latest)
    fail(Code::not_found, "there is nothing to resume: ", o.directory, " has no checkpoint");
  if (o.resume) return Checkpoint::open(o.directory);
  if (!o.directory.empty() && latest)
    fail(Code::already_exists, o.directory,
         " has checkpoints of an earlier run: resume it, or choose another directory");
  return std::nullopt;
}

void check_labels(const Checkpoint& checkpoint, const std::map<std::string, std::string>& labels) {
  const auto& state = checkpoint.manifest().state;
  for (const auto& [key, value] : labels)
    if (const auto found = state.find(key); found != state.end() && found->second != value)
      fail(Code::failed_precondition, checkpoint.name(), " belongs to another run: its ", key,
           " is '", found->second, "', not '", value, "'");
}

std::shared_ptr<CheckpointWriter> checkpoint_writer(const CheckpointOptions& o) {
  Retention retention;
  retention.keep_last = o.keep;
  retention.keep_every_hours = o.keep_every_hours;
  return std::make_shared<CheckpointWriter>(o.directory, retention);
}

}  // namespace troupe
