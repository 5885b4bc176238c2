#include "troupe/actors/readers/epoch_order.h"

#include <numeric>
#include <utility>

#include "troupe/ops/random.h"

namespace troupe {

std::vector<std::size_t> epoch_order(std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream random(seed_for(seed, "file order"), epoch);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace troupe
