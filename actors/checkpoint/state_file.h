#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/manifest.h"
#include "troupe/actors/checkpoint/safetensors.h"

namespace troupe {

// What a run needs to go on, beside what its shards have, has names in Manifest::state: "data" for
// the data, "memories" for what replicas remember. Of each there are bytes, in the manifest, and
// tensors, in a file beside those of the shards: "ckpt-300.data.safetensors".

inline constexpr const char* kDataState = "data";
inline constexpr const char* kMemoryState = "memories";

/// Puts it into a checkpoint that is about to be published. Returns the bytes of the file. Throws
/// as write_safetensors() does.
std::uint64_t write_state(const std::string& directory, const std::string& what,
                          const std::string& bytes, const std::vector<NamedTensor>& tensors,
                          Manifest& manifest);

/// The bytes, and what reads a tensor by its name and verifies it.
struct ReadState {
  std::string bytes;
  std::function<Tensor(const std::string&)> read;
};
/// None when the checkpoint has none of it. Throws data_loss, naming the file, for what is
/// damaged; so does ReadState::read.
std::optional<ReadState> read_state(const Checkpoint& checkpoint, const std::string& what);

/// Whether a name in Manifest::state is that of such a state, or of its file.
bool names_state(std::string_view name);

/// The names of the files with such tensors, relative to the directory.
std::vector<std::string> state_files(const Manifest& manifest);

}  // namespace troupe
