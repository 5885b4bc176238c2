#include "troupe/actors/checkpoint/checkpoint_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <ratio>
#include <set>
#include <utility>

#include "troupe/actors/checkpoint/atomic_file.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/checkpoint/checkpoint_names.h"
#include "troupe/actors/checkpoint/manifest.h"
#include "troupe/actors/checkpoint/safetensors.h"
#include "troupe/actors/checkpoint/state_file.h"
#include "troupe/actors/system_error.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> file_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory, error))
    names.push_back(file.path().filename().string());
  if (error) fail(Code::unavailable, "cannot list ", directory, ": ", error.message());
  return names;
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) system_error("remove", path);
}

/// Refuses a manifest that no reader would take, or whose files are not there.
void check_publishable(const std::string& directory, const Manifest& manifest) {
  const auto name = in_directory(directory, manifest_name(manifest.step));
  try {
    decode_manifest(encode_manifest(manifest), name);
  } catch (const Error& error) {
    fail(Code::invalid_argument, "cannot publish: ", error.what());
  }
  for (const auto& file : manifest.files) {
    const auto path = in_directory(directory, file.name);
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error)
      fail(Code::failed_precondition, "cannot publish ", name, ": ", path, ": ", error.message());
    if (bytes != file.bytes)
      fail(Code::failed_precondition, "cannot publish ", name, ": ", path, " has ", bytes,
           " bytes, but should have ", file.bytes);
  }
}

/// When it was published; long ago when its manifest is damaged.
std::chrono::system_clock::time_point time_of(const std::string& directory, std::int64_t step) {
  try {
    return read_manifest(in_directory(directory, manifest_name(step))).time;
  } catch (const Error&) {
    return {};
  }
}

bool can_be_opened(const std::string& directory, std::int64_t step) {
  try {
    CheckpointDirectory(directory).open(step);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::int64_t> expired(const std::vector<std::int64_t>& steps,
                                  const Retention& retention) {
  const auto keep = static_cast<std::size_t>(std::max(retention.keep_last, 1));
  std::vector<std::int64_t> gone;
  if (retention.keep_last == 0 || steps.size() <= keep) return gone;
  std::copy_if(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(keep),
               std::back_inserter(gone), [&](std::int64_t step) {
                 return retention.keep_every <= 0 || step % retention.keep_every != 0;
               });
  return gone;
}

std::vector<std::int64_t> retired(const std::vector<PublishedCheckpoint>& checkpoints,
                                  const Retention& retention) {
  std::vector<std::int64_t> steps;
  for (const auto& checkpoint : checkpoints) steps.push_back(checkpoint.step);
  auto gone = expired(steps, retention);
  if (!(retention.keep_every_hours > 0)) return gone;
  // Periods are those of the clock, so that it does not matter which others are left.
  std::set<double> periods;
  for (const auto& [step, time] : checkpoints) {
    const auto hours = std::chrono::duration<double, std::ratio<3600>>(time.time_since_epoch());
    if (periods.insert(std::floor(hours.count() / retention.keep_every_hours)).second)
      std::erase(gone, step);
  }
  return gone;
}

ShardFile write_shard(const std::string& directory, std::int64_t step, int shard, int shards,
                      const std::vector<TensorRecord>& records) {
  // A published checkpoint of this step may still name the file.
  int rewrite = 0;
  while (fs::exists(in_directory(directory, shard_name(step, shard, shards, rewrite)))) ++rewrite;
  ShardFile file{shard_name(step, shard, shards, rewrite), 0, {}};

  std::vector<NamedTensor> tensors;
  for (const auto& record : records) tensors.push_back({record.name, record.value, record.blocks});
  const auto written = write_safetensors(in_directory(directory, file.name), tensors,
                                         {{"producer", "troupe"}, {"step", std::to_string(step)}});
  sync_directory(directory);

  file.bytes = written.bytes;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& r = records[i];
    file.tensors.push_back({r.name, r.kind, r.variable, r.slot, tensors[i].dtype(),
                            tensors[i].shape(), written.crc32cs[i], r.first_row, r.total_rows});
  }
  return file;
}

CheckpointWriter::CheckpointWriter(std::string directory, Retention retention)
    : directory_(std::move(directory)), retention_(retention) {
  if (retention_.keep_last < 0 || retention_.keep_every < 0 || !(retention_.keep_every_hours >= 0))
    fail(Code::invalid_argument, "checkpoints of ", directory_, ": keep_last ",
         retention_.keep_last, ", keep_every ", retention_.keep_every, " and keep_every_hours ",
         retention_.keep_every_hours, " may not be negative");
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) fail(Code::unavailable, "cannot create ", directory_, ": ", error.message());
  lock();
  remove_leftovers();
}

CheckpointWriter::~CheckpointWriter() {
  if (lock_ >= 0) ::close(lock_);
}

void CheckpointWriter::lock() {
  const auto path = in_directory(directory_, ".ckpt-writer");
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) system_error("create", path);
  // The system lets go of the lock when the process ends, however it ends. A file
  // system that has no locks says something else than EWOULDBLOCK.
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(std::exchange(lock_, -1));
  fail(Code::failed_precondition, "another writer is writing checkpoints to ", directory_,
       ": stop it, or choose another directory");
}

void CheckpointWriter::remove_leftovers() {
  std::set<std::int64_t> steps;
  for (const auto& name : file_names(directory_)) {
    if (is_temporary(name)) remove_file(in_directory(directory_, name));
    if (const auto step = step_of_shard(name)) steps.insert(*step);
  }
  for (const auto step : steps) remove_unnamed_files(step);
}

/// Removes the shard files of a step that its manifest does not name.
void CheckpointWriter::remove_unnamed_files(std::int64_t step) {
  const auto manifest = in_directory(directory_, manifest_name(step));
  std::set<std::string> named;
  if (fs::exists(manifest)) {
    try {
      const auto read = read_manifest(manifest);
      for (const auto& file : read.files) named.insert(file.name);
      for (const auto& name : state_files(read)) named.insert(name);
    } catch (const Error&) {
      return;  // a damaged manifest: somebody may still want to save the weights
    }
  }
  for (const auto& name : file_names(directory_))
    if (step_of_shard(name) == step && !named.contains(name))
      remove_file(in_directory(directory_, name));
}

void CheckpointWriter::publish(Manifest manifest) {
  if (manifest.time == std::chrono::system_clock::time_point{})
    manifest.time = std::chrono::system_clock::now();
  check_publishable(directory_, manifest);
  AtomicFile file(in_directory(directory_, manifest_name(manifest.step)));
  file.write(encode_manifest(manifest));
  file.commit();
  sync_directory(directory_);
  remove_unnamed_files(manifest.step);
  retire();
}

void CheckpointWriter::retire() {
  const auto steps = CheckpointDirectory(directory_).list();
  std::vector<PublishedCheckpoint> checkpoints;
  for (const auto step : steps) checkpoints.push_back({step, time_of(directory_, step)});
  const auto gone = retired(checkpoints, retention_);
  if (gone.empty()) return;
  const auto newest = std::find_if(steps.rbegin(), steps.rend(), [&](std::int64_t step) {
    return can_be_opened(directory_, step);
  });
  for (const auto step : gone)
    if (newest == steps.rend() || step != *newest) remove_checkpoint(step);
}

void CheckpointWriter::remove_checkpoint(std::int64_t step) {
  // The manifest first: a checkpoint without some of its files must not be found.
  remove_file(in_directory(directory_, manifest_name(step)));
  sync_directory(directory_);
  remove_unnamed_files(step);
}

}  // namespace troupe
