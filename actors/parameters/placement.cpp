#include "troupe/actors/parameters/placement.h"

#include <algorithm>
#include <numeric>

#include "troupe/ops/error.h"

namespace troupe {

VariablePlacement parse_variable_placement(std::string_view name) {
  if (name == "by_bytes") return VariablePlacement::by_bytes;
  if (name == "round_robin") return VariablePlacement::round_robin;
  fail(Code::invalid_argument, "no placement of variables is called '", name,
       "'; there are: by_bytes, round_robin");
}

std::vector<std::uint32_t> place_variables(const std::vector<Variable>& variables,
                                           std::uint32_t shards, VariablePlacement placement) {
  if (shards == 0) fail(Code::invalid_argument, "variables need at least 1 shard to live in");
  std::vector<std::uint32_t> shard_of(variables.size());
  if (placement == VariablePlacement::round_robin) {
    for (std::size_t i = 0; i < variables.size(); ++i)
      shard_of[i] = static_cast<std::uint32_t>(i % shards);
    return shard_of;
  }
  const auto bytes = [&](std::size_t i) {
    const auto& spec = variables[i].spec();
    return static_cast<std::size_t>(spec.shape.volume()) * size_of(spec.dtype);
  };
  std::vector<std::size_t> order(variables.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bytes(a) > bytes(b); });
  std::vector<std::size_t> load(shards);
  for (const auto i : order) {
    const auto least = std::min_element(load.begin(), load.end()) - load.begin();
    shard_of[i] = static_cast<std::uint32_t>(least);
    load[least] += bytes(i);
  }
  return shard_of;
}

}  // namespace troupe
