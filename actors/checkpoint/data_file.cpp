#include "troupe/actors/checkpoint/data_file.h"

#include "troupe/actors/checkpoint/data_state_codec.h"
#include "troupe/actors/checkpoint/state_file.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr const char* kMissing = "data missing";  // in Manifest::state

}  // namespace

std::uint64_t write_data(const std::string& directory, const DataState& state, Manifest& manifest) {
  if (!state.missing.empty()) {
    manifest.state[kMissing] = state.missing;
    return 0;
  }
  const auto packed = pack(state);
  return write_state(directory, kDataState, packed.state, packed.tensors, manifest);
}

std::string why_no_data(const Manifest& manifest) {
  const auto why = manifest.state.find(kMissing);
  return why == manifest.state.end() ? std::string() : why->second;
}

std::optional<DataState> read_data(const Checkpoint& checkpoint) {
  const auto state = read_state(checkpoint, kDataState);
  if (!state) return std::nullopt;
  try {
    auto data = unpack(state->bytes, state->read);
    if (data.version != static_cast<Version>(checkpoint.step()))
      fail(Code::data_loss, "the data are those of step ", data.version);
    return data;
  } catch (const Error& error) {
    if (error.code() == Code::unimplemented) throw;
    throw Error(Code::data_loss, text(checkpoint.name(), ": ", error.what()));
  }
}

bool belongs_to_data(std::string_view name) { return name == kMissing || names_state(name); }

}  // namespace troupe
