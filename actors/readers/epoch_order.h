#pragma once

#include <cstdint>
#include <vector>

namespace troupe {

/// The numbers 0 to count - 1 in the random order of one epoch: the same for the same
/// seed and epoch, on every machine.
std::vector<std::size_t> epoch_order(std::size_t count, std::uint64_t seed, std::uint64_t epoch);

}  // namespace troupe
