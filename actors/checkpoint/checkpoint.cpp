#include "troupe/actors/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/checkpoint/checkpoint_names.h"
#include "troupe/actors/checkpoint/manifest.h"
#include "troupe/messages/crc32c.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;

std::string directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

std::string list_of_checkpoints(const std::string& directory) {
  std::string names;
  for (const auto step : CheckpointDirectory(directory).list())
    names += text(names.empty() ? "" : ", ", checkpoint_name(step));
  return names.empty() ? "there is no checkpoint" : "there is " + names;
}

/// The path of the manifest that the user means.
std::string find_manifest(const std::string& given) {
  constexpr std::string_view kExpected =
      "expected a directory with checkpoints, a manifest such as run/ckpt-300.manifest, "
      "or run/ckpt-300";
  if (given.empty()) fail(Code::invalid_argument, "no checkpoint is named; ", kExpected);
  const fs::path path(given);
  const auto directory = directory_of(path);
  const auto name = path.filename().string();
  // What is in the way of a manifest, such as a folder, is damage: an older one is offered.
  if (step_of_manifest(name) && fs::exists(path)) return given;
  if (fs::is_directory(path)) {
    if (const auto step = CheckpointDirectory(given).latest())
      return in_directory(given, manifest_name(*step));
    fail(Code::not_found, "directory ", given, " has no checkpoint: no file such as ",
         manifest_name(300), " is in it");
  }
  if (name == "last" && !fs::exists(path) && fs::is_directory(directory))
    return find_manifest(directory);
  const bool is_file = fs::is_regular_file(path);
  if (is_file && name.ends_with(kManifestEnding)) return given;
  auto with_ending = given + std::string(kManifestEnding);
  if (step_of_manifest(name + std::string(kManifestEnding)) ? fs::exists(with_ending)
                                                            : fs::is_regular_file(with_ending))
    return with_ending;
  if (const auto step = step_of_shard(name))
    fail(Code::invalid_argument, given, " holds the weights of one shard; name the checkpoint: ",
         in_directory(directory, checkpoint_name(*step)));
  if (fs::exists(path)) fail(Code::invalid_argument, given, " is not a checkpoint; ", kExpected);
  if (!fs::is_directory(directory))
    fail(Code::not_found, "no checkpoint ", given, ": there is no directory ", directory);
  fail(Code::not_found, "no checkpoint ", given, ": in ", directory, " ",
       list_of_checkpoints(directory));
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& path) {
  const auto manifest = find_manifest(path);
  try {
    return Checkpoint(manifest);
  } catch (const Error& error) {
    refuse(error, manifest);
  }
}

Checkpoint::Checkpoint(const std::string& manifest_path)
    : directory_(directory_of(manifest_path)),
      name_(manifest_path.substr(0, manifest_path.size() - kManifestEnding.size())),
      manifest_(read_manifest(manifest_path)) {
  files_.reserve(manifest_.files.size());
  for (const auto& file : manifest_.files) open_file(file);
  join_parts();
}

/// Puts the parts of a tensor in order, and looks whether they are all there.
void Checkpoint::join_parts() {
  for (const auto& [name, place] : tensors_)
    if (place.entry->total_rows > 0) splits_[place.entry->whole_name()].parts.push_back(place);
  for (auto& [name, split] : splits_) {
    std::ranges::sort(split.parts, {}, [](const Place& part) { return part.entry->first_row; });
    const auto& first = *split.parts[0].entry;
    split.entry = first;
    split.entry.name = name;
    split.entry.crc32c = 0;
    if (first.kind == TensorKind::variable) split.entry.variable.clear();
    split.entry.shape.set(0, first.total_rows);
    split.entry.first_row = split.entry.total_rows = 0;
    std::int64_t next = 0;
    for (const auto& part : split.parts) {
      const auto& entry = *part.entry;
      if (entry.first_row != next || entry.total_rows != first.total_rows ||
          entry.dtype != first.dtype ||
          !(entry.shape.without_first() == first.shape.without_first()))
        fail(Code::data_loss, name_, ": the parts of tensor '", name, "' do not fit: row ", next,
             " should follow, but there is part '", entry.name, "' ", entry.dtype, " ",
             entry.shape);
      next += entry.shape[0];
    }
    if (next != first.total_rows)
      fail(Code::data_loss, name_, ": tensor '", name, "' has ", first.total_rows,
           " rows, but those from ", next, " on are missing");
  }
}

Tensor Checkpoint::read_split(const Split& split) const {
  auto whole = Tensor::uninitialized(split.entry.dtype, split.entry.shape);
  auto* to = whole.mutable_data();
  for (const auto& part : split.parts) {
    const auto rows = read_verified(part);
    if (rows.byte_size() > 0) std::memcpy(to, rows.data(), rows.byte_size());
    to += rows.byte_size();
  }
  return whole;
}

void Checkpoint::open_file(const ShardFile& file) {
  const auto path = in_directory(directory_, file.name);
  if (!fs::exists(path))
    fail(Code::data_loss, path, ", which belongs to checkpoint ", name_, ", is missing");
  const auto& opened = files_.emplace_back(path);
  const auto complain = [&](const auto&... parts) { fail(Code::data_loss, path, ": ", parts...); };
  if (opened.bytes() != file.bytes)
    complain("the file has ", opened.bytes(), " bytes, but ", name_, " was written with ",
             file.bytes);
  for (const auto& entry : file.tensors) {
    const auto* found = opened.find(entry.name);
    if (!found) complain("tensor '", entry.name, "' of checkpoint ", name_, " is missing");
    if (found->dtype != entry.dtype || !(found->shape == entry.shape))
      complain("tensor '", entry.name, "' is ", found->dtype, " ", found->shape, ", but ", name_,
               " was written with ", entry.dtype, " ", entry.shape);
    tensors_[entry.name] = {&entry, &opened};
  }
}

const Checkpoint::Place& Checkpoint::place(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  if (found != tensors_.end()) return found->second;
  std::string known;
  for (const auto& [name, place] : tensors_) known += text(known.empty() ? "" : ", ", name);
  fail(Code::not_found, "checkpoint ", name_, " has no tensor '", tensor, "'; it has: ", known);
}

const TensorEntry& Checkpoint::entry(const std::string& tensor) const {
  const auto split = splits_.find(tensor);
  if (split != splits_.end()) return split->second.entry;
  return *place(tensor).entry;
}

Tensor Checkpoint::read_verified(const Place& place) const {
  const auto& [entry, file] = place;
  auto tensor = file->read(entry->name);
  const auto sum = crc32c(tensor.data(), tensor.byte_size());
  if (sum != entry->crc32c)
    fail(Code::data_loss, file->path(), ": tensor '", entry->name,
         "' is damaged: its values do not have the checksum that they were written with");
  return tensor;
}

Tensor Checkpoint::read(const std::string& tensor) const {
  const auto split = splits_.find(tensor);
  const auto* from = split == splits_.end() ? &place(tensor) : nullptr;
  try {
    return from ? read_verified(*from) : read_split(split->second);
  } catch (const Error& error) {
    refuse(error, name_ + std::string(kManifestEnding));
  }
}

std::vector<TensorRecord> Checkpoint::read_all() const {
  std::vector<TensorRecord> records;
  for (const auto& file : manifest_.files)
    for (const auto& entry : file.tensors)
      if (entry.total_rows == 0)
        records.push_back({entry.name, entry.kind, entry.variable, entry.slot, read(entry.name)});
  for (const auto& [name, split] : splits_)
    records.push_back({name, split.entry.kind, split.entry.variable, split.entry.slot, read(name)});
  return records;
}

void Checkpoint::verify() const {
  for (const auto& [name, place] : tensors_) read(name);
}

bool Checkpoint::is_whole(const std::string& manifest_path) {
  try {
    const Checkpoint checkpoint(manifest_path);
    for (const auto& [name, place] : checkpoint.tensors_) checkpoint.read_verified(place);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void Checkpoint::refuse(const Error& error, const std::string& manifest_path) {
  if (error.code() != Code::data_loss) throw error;
  const auto directory = directory_of(manifest_path);
  const auto damaged = step_of_manifest(fs::path(manifest_path).filename().string());
  auto steps = CheckpointDirectory(directory).list();
  std::ranges::reverse(steps);
  const auto whole = std::ranges::find_if(steps, [&](std::int64_t step) {
    return (!damaged || step < *damaged) && is_whole(in_directory(directory, manifest_name(step)));
  });
  if (whole == steps.end())
    fail(Code::data_loss, error.what(), "; no older checkpoint in ", directory, " is whole");
  fail(Code::data_loss, error.what(),
       "; the checkpoint before it is whole: ", in_directory(directory, checkpoint_name(*whole)));
}

}  // namespace troupe
