#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/manifest.h"
#include "troupe/messages/data_state.h"

namespace troupe {

/// Puts the data of a run into a checkpoint that is about to be published: the tensors into
/// a file beside those of the shards, "ckpt-300.data.safetensors", everything else into
/// Manifest::state. Returns the bytes of the file. A state that is missing says in the manifest
/// why. Throws as write_safetensors() does.
std::uint64_t write_data(const std::string& directory, const DataState& state, Manifest& manifest);

/// What a checkpoint says of the data, verified; none when it was made without, as those of
/// versions before this were. Throws data_loss, naming the file, for what is damaged.
std::optional<DataState> read_data(const Checkpoint& checkpoint);

/// Why a checkpoint has no data in it: "" when it has, or does not say.
std::string why_no_data(const Manifest& manifest);

/// Whether what is called so in Manifest::state is said of the data, or of what else there is
/// beside the weights.
bool belongs_to_data(std::string_view name);

}  // namespace troupe
