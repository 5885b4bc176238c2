#include "troupe/actors/checkpoint/state_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>

#include "troupe/actors/checkpoint/atomic_file.h"
#include "troupe/actors/checkpoint/checkpoint_names.h"
#include "troupe/messages/crc32c.h"
#include "troupe/messages/proto/data_state.pb.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::array kStates{kDataState, kMemoryState};

/// The name in Manifest::state of the file.
std::string file_key(const std::string& what) { return what + " file"; }

/// The file, which must be as it was written.
std::shared_ptr<SafetensorsFile> open_file(const std::string& path, const std::string& what,
                                           const proto::DataFile& from) {
  if (!std::filesystem::exists(path))
    fail(Code::data_loss, path, ", which has the ", what, " of the checkpoint, is missing");
  auto file = std::make_shared<SafetensorsFile>(path);
  if (file->bytes() != from.bytes())
    fail(Code::data_loss, path, " has ", file->bytes(), " bytes, but was written with ",
         from.bytes());
  return file;
}

}  // namespace

std::uint64_t write_state(const std::string& directory, const std::string& what,
                          const std::string& bytes, const std::vector<NamedTensor>& tensors,
                          Manifest& manifest) {
  proto::DataFile file;
  file.set_state(bytes);
  if (!tensors.empty()) {
    // A published checkpoint of this step may still name the file.
    int rewrite = 0;
    const auto path = [&] {
      return in_directory(directory, state_name(manifest.step, what, rewrite));
    };
    while (std::filesystem::exists(path())) ++rewrite;
    file.set_name(state_name(manifest.step, what, rewrite));
    const auto written = write_safetensors(
        path(), tensors, {{"producer", "troupe"}, {"step", std::to_string(manifest.step)}});
    sync_directory(directory);
    file.set_bytes(written.bytes);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      auto& entry = *file.add_tensors();
      entry.set_name(tensors[i].name);
      entry.set_crc32c(written.crc32cs[i]);
    }
    manifest.state[file_key(what)] = file.name();
  }
  manifest.state[what] = file.SerializeAsString();
  return file.bytes();
}

std::optional<ReadState> read_state(const Checkpoint& checkpoint, const std::string& what) {
  const auto& state = checkpoint.manifest().state;
  const auto found = state.find(what);
  if (found == state.end()) return std::nullopt;
  proto::DataFile from;
  if (!from.ParseFromString(found->second))
    fail(Code::data_loss, checkpoint.name(), ": the state of the ", what, " cannot be parsed");
  const auto& name = from.name();
  if (name.find('/') != std::string::npos)
    fail(Code::data_loss, checkpoint.name(), ": '", name, "' is no file beside the manifest");
  const auto path = in_directory(checkpoint.directory(), name);
  std::shared_ptr<SafetensorsFile> file;
  if (!name.empty()) file = open_file(path, what, from);
  std::map<std::string, std::uint32_t> sums;
  for (const auto& entry : from.tensors()) sums[entry.name()] = entry.crc32c();
  return ReadState{
      from.state(), [=, title = checkpoint.name()](const std::string& tensor) {
        const auto sum = sums.find(tensor);
        if (!file || sum == sums.end())
          fail(Code::data_loss, title, ": the state of the ", what, " has no tensor '", tensor,
               "'");
        auto value = file->read(tensor);
        if (crc32c(value.data(), value.byte_size()) != sum->second)
          fail(Code::data_loss, path, ": tensor '", tensor,
               "' is damaged: its values do not have the checksum that they were written with");
        return value;
      }};
}

bool names_state(std::string_view name) {
  return std::ranges::any_of(
      kStates, [&](const char* what) { return name == what || name == file_key(what); });
}

std::vector<std::string> state_files(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const auto* what : kStates)
    if (const auto name = manifest.state.find(file_key(what)); name != manifest.state.end())
      names.push_back(name->second);
  return names;
}

}  // namespace troupe
