#include "troupe/actors/parameters/placement.h"

#include <algorithm>
#include <numeric>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

std::uint64_t bytes_of(const Variable& variable) {
  const auto& spec = variable.spec();
  return static_cast<std::uint64_t>(spec.shape.volume()) * size_of(spec.dtype);
}

void expect_shards(std::uint32_t shards) {
  if (shards == 0) fail(Code::invalid_argument, "variables need at least 1 shard to live in");
}

std::uint32_t asked(const VariablePlacement::Function& function, const Variable& variable,
                    std::uint32_t shards) {
  std::uint32_t shard = 0;
  try {
    shard = function(variable, shards);
  } catch (const Error& error) {
    throw error.within(text("placement of variable '", variable.name(), "'"));
  } catch (const std::exception& error) {
    fail(Code::invalid_argument, "placement of variable '", variable.name(), "': ", error.what());
  }
  if (shard >= shards)
    fail(Code::invalid_argument, "placement of variable '", variable.name(),
         "': the function says shard ", shard, ", but there are ", shards, ", counted from 0");
  return shard;
}

/// How many parts of at most that size the variable makes.
std::int64_t parts_of(const Variable& variable, std::uint32_t shards, std::uint64_t most_bytes) {
  const auto& spec = variable.spec();
  const auto bytes = bytes_of(variable);
  if (most_bytes == 0 || bytes <= most_bytes || spec.shape.rank() == 0 || !is_floating(spec.dtype))
    return 1;
  const auto wanted = static_cast<std::int64_t>((bytes + most_bytes - 1) / most_bytes);
  return std::min({wanted, std::int64_t{shards}, spec.shape[0]});
}

}  // namespace

const VariablePlacement VariablePlacement::by_bytes{std::string("by_bytes")};
const VariablePlacement VariablePlacement::round_robin{std::string("round_robin")};

VariablePlacement parse_variable_placement(std::string_view name) {
  if (name == "by_bytes") return VariablePlacement::by_bytes;
  if (name == "round_robin") return VariablePlacement::round_robin;
  fail(Code::invalid_argument, "no placement of variables is called '", name,
       "'; there are: by_bytes, round_robin");
}

std::vector<std::uint32_t> place_variables(const std::vector<Variable>& variables,
                                           std::uint32_t shards,
                                           const VariablePlacement& placement) {
  std::vector<std::uint32_t> shard_of(variables.size());
  for (const auto& placed : place_rows(variables, shards, placement, 0))
    shard_of[placed.variable] = placed.shard;
  return shard_of;
}

std::vector<PlacedRows> place_rows(const std::vector<Variable>& variables, std::uint32_t shards,
                                   const VariablePlacement& placement, std::uint64_t most_bytes) {
  expect_shards(shards);
  std::vector<PlacedRows> placed;
  std::uint32_t in_turn = 0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& shape = variables[i].spec().shape;
    const auto parts = parts_of(variables[i], shards, most_bytes);
    const auto rows = shape.rank() == 0 ? 1 : shape[0];
    const auto begin =
        placement.function() ? asked(placement.function(), variables[i], shards) : in_turn;
    for (std::int64_t part = 0; part < parts; ++part) {
      const auto first = rows * part / parts;
      const auto shard = static_cast<std::uint32_t>((begin + part) % shards);
      placed.push_back({i, shard, first, rows * (part + 1) / parts - first, parts == 1});
    }
    in_turn = static_cast<std::uint32_t>((in_turn + parts) % shards);
  }
  if (placement.name() != VariablePlacement::by_bytes.name()) return placed;

  const auto bytes = [&](const PlacedRows& part) {
    const auto& shape = variables[part.variable].spec().shape;
    const auto all = bytes_of(variables[part.variable]);
    return part.whole || shape[0] == 0
               ? all
               : all / static_cast<std::uint64_t>(shape[0]) * static_cast<std::uint64_t>(part.rows);
  };
  std::vector<std::size_t> order(placed.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bytes(placed[a]) > bytes(placed[b]);
  });
  std::vector<std::uint64_t> load(shards);
  std::vector<std::vector<bool>> has(variables.size(), std::vector<bool>(shards));
  for (const auto i : order) {
    // Two parts of one variable in one shard would be one part.
    auto& taken = has[placed[i].variable];
    std::uint32_t least = shards;
    for (std::uint32_t shard = 0; shard < shards; ++shard)
      if (!taken[shard] && (least == shards || load[shard] < load[least])) least = shard;
    placed[i].shard = least;
    taken[least] = true;
    load[least] += bytes(placed[i]);
  }
  return placed;
}

}  // namespace troupe
