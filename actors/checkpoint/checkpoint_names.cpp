#include "troupe/actors/checkpoint/checkpoint_names.h"

#include <charconv>
#include <filesystem>

#include "troupe/actors/checkpoint/atomic_file.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::string_view kPrefix = "ckpt-";
constexpr std::string_view kWeightsEnding = ".safetensors";

/// Takes the step off "ckpt-300<rest>"; `name` becomes the rest.
std::optional<std::int64_t> take_step(std::string_view& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  // Only the spelling that checkpoint_name() gives: not "-0", not "007".
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (error != std::errc{} || step < 0 || name.substr(0, digits) != std::to_string(step))
    return std::nullopt;
  name.remove_prefix(digits);
  return step;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return text(kPrefix, step); }
std::string manifest_name(std::int64_t step) { return text(kPrefix, step, kManifestEnding); }

std::string shard_name(std::int64_t step, int shard, int shards, int rewrite) {
  return text(kPrefix, step, ".shard-", shard + 1, "-of-", shards,
              rewrite > 0 ? text(".rewrite-", rewrite) : "", kWeightsEnding);
}

std::string state_name(std::int64_t step, const std::string& what, int rewrite) {
  return text(kPrefix, step, '.', what, rewrite > 0 ? text(".rewrite-", rewrite) : "",
              kWeightsEnding);
}

std::optional<std::int64_t> step_of_manifest(std::string_view name) {
  const auto step = take_step(name);
  return name == kManifestEnding ? step : std::nullopt;
}

std::optional<std::int64_t> step_of_shard(std::string_view name) {
  const auto step = take_step(name);
  return (name.starts_with(".shard-") || name.starts_with(".data.") ||
          name.starts_with(".memories.")) &&
                 name.ends_with(kWeightsEnding)
             ? step
             : std::nullopt;
}

bool is_temporary(std::string_view name) {
  return take_step(name) && name.ends_with(AtomicFile::kSuffix);
}

std::string in_directory(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

}  // namespace troupe
