#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

// The files of a checkpoint stand side by side in its directory:
//
//   ckpt-300.manifest                      written last: with it the checkpoint exists
//   ckpt-300.shard-1-of-2.safetensors
//   ckpt-300.shard-2-of-2.safetensors
//   ckpt-300.data.safetensors              what was on its way from the files to the replicas
//   ckpt-300.memories.safetensors          what replicas keep for themselves
//
// Names in a manifest are relative, so the directory can be moved.

inline constexpr std::string_view kManifestEnding = ".manifest";

std::string checkpoint_name(std::int64_t step);  ///< "ckpt-300"
std::string manifest_name(std::int64_t step);    ///< "ckpt-300.manifest"

/// "ckpt-300.shard-1-of-2.safetensors" for shard 0 of 2. A step that is written
/// once more must not touch the files that its manifest still names, so there
/// are more names: "ckpt-300.shard-1-of-2.rewrite-1.safetensors" for rewrite 1.
std::string shard_name(std::int64_t step, int shard, int shards, int rewrite = 0);

/// "ckpt-300.data.safetensors", for the "data" of the run, or what else it is; rewrites as above.
std::string state_name(std::int64_t step, const std::string& what, int rewrite = 0);

/// 300 for "ckpt-300.manifest".
std::optional<std::int64_t> step_of_manifest(std::string_view name);
/// 300 for "ckpt-300.shard-1-of-2.safetensors", "ckpt-300.data.safetensors", "ckpt-300.memories
/// .safetensors" and rewrites.
std::optional<std::int64_t> step_of_shard(std::string_view name);
/// Whether a file was left behind by a write that did not end.
bool is_temporary(std::string_view name);

/// "run/ckpt-300" from "run" and "ckpt-300".
std::string in_directory(const std::string& directory, const std::string& name);

}  // namespace troupe
