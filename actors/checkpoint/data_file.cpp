#include "troupe/actors/checkpoint/data_file.h"

#include <filesystem>
#include <map>

#include "troupe/actors/checkpoint/atomic_file.h"
#include "troupe/actors/checkpoint/checkpoint_names.h"
#include "troupe/actors/checkpoint/data_state_codec.h"
#include "troupe/actors/checkpoint/safetensors.h"
#include "troupe/messages/crc32c.h"
#include "troupe/messages/proto/data_state.pb.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

// Names in Manifest::state.
constexpr const char* kData = "data";
constexpr const char* kFile = "data file";
constexpr const char* kMissing = "data missing";

/// The value of that name; nullptr for none.
const std::string* find(const Manifest& manifest, const char* name) {
  const auto found = manifest.state.find(name);
  return found == manifest.state.end() ? nullptr : &found->second;
}

/// The file, which must be as it was written.
SafetensorsFile open_file(const std::string& path, const proto::DataFile& from) {
  if (!std::filesystem::exists(path))
    fail(Code::data_loss, path, ", which has the data of the checkpoint, is missing");
  SafetensorsFile file(path);
  if (file.bytes() != from.bytes())
    fail(Code::data_loss, path, " has ", file.bytes(), " bytes, but was written with ",
         from.bytes());
  return file;
}

}  // namespace

std::uint64_t write_data(const std::string& directory, const DataState& state, Manifest& manifest) {
  if (!state.missing.empty()) {
    manifest.state[kMissing] = state.missing;
    return 0;
  }
  const auto packed = pack(state);
  proto::DataFile file;
  file.set_state(packed.state);
  if (!packed.tensors.empty()) {
    // A published checkpoint of this step may still name the file.
    int rewrite = 0;
    while (std::filesystem::exists(in_directory(directory, data_name(manifest.step, rewrite))))
      ++rewrite;
    file.set_name(data_name(manifest.step, rewrite));
    const auto written =
        write_safetensors(in_directory(directory, file.name()), packed.tensors,
                          {{"producer", "troupe"}, {"step", std::to_string(manifest.step)}});
    sync_directory(directory);
    file.set_bytes(written.bytes);
    for (std::size_t i = 0; i < packed.tensors.size(); ++i) {
      auto& entry = *file.add_tensors();
      entry.set_name(packed.tensors[i].name);
      entry.set_crc32c(written.crc32cs[i]);
    }
    manifest.state[kFile] = file.name();
  }
  manifest.state[kData] = file.SerializeAsString();
  return file.bytes();
}

std::string data_file_name(const Manifest& manifest) {
  const auto* name = find(manifest, kFile);
  return name ? *name : std::string();
}

std::string why_no_data(const Manifest& manifest) {
  const auto* why = find(manifest, kMissing);
  return why ? *why : std::string();
}

std::optional<DataState> read_data(const Checkpoint& checkpoint) {
  const auto* bytes = find(checkpoint.manifest(), kData);
  if (!bytes) return std::nullopt;
  proto::DataFile from;
  if (!from.ParseFromString(*bytes))
    fail(Code::data_loss, checkpoint.name(), ": the state of the data cannot be parsed");
  const auto& name = from.name();
  if (name.find('/') != std::string::npos)
    fail(Code::data_loss, checkpoint.name(), ": '", name, "' is no file beside the manifest");
  const auto path = in_directory(checkpoint.directory(), name);
  std::optional<SafetensorsFile> file;
  if (!name.empty()) file.emplace(open_file(path, from));
  std::map<std::string, std::uint32_t> sums;
  for (const auto& entry : from.tensors()) sums[entry.name()] = entry.crc32c();
  const auto read = [&](const std::string& tensor) {
    const auto sum = sums.find(tensor);
    if (!file || sum == sums.end())
      fail(Code::data_loss, checkpoint.name(), ": the state of the data has no tensor '", tensor,
           "'");
    auto value = file->read(tensor);
    if (crc32c(value.data(), value.byte_size()) != sum->second)
      fail(Code::data_loss, path, ": tensor '", tensor,
           "' is damaged: its values do not have the checksum that they were written with");
    return value;
  };
  try {
    return unpack(from.state(), read);
  } catch (const Error& error) {
    if (error.code() == Code::unimplemented) throw;
    throw Error(Code::data_loss, text(checkpoint.name(), ": ", error.what()));
  }
}

bool belongs_to_data(std::string_view name) {
  return name == kData || name == kFile || name == kMissing;
}

}  // namespace troupe
