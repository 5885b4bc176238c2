#include "troupe/ops/random.h"

#include <cmath>
#include <numbers>

namespace troupe {

std::uint64_t RandomStream::below(std::uint64_t bound) {
  const auto draw = [this] {
    const std::uint64_t high = next();
    return high << 32 | next();
  };
  auto product = static_cast<unsigned __int128>(draw()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t reject = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < reject)
      product = static_cast<unsigned __int128>(draw()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace troupe
