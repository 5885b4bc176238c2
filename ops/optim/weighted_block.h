#pragma once

#include <cstdint>
#include <span>

#include "troupe/ops/tensor.h"

namespace troupe {

/// So many values are added up at a time: they stay in the first cache while all tensors are
/// added to them.
inline constexpr std::int64_t kWeightedBlock = 2048;

/// to[i] = the sum of weights[p] * values[p][begin + i], added in order, for begin + i < end.
/// All tensors have dtype T; there is at least one.
template <class T>
void add_weighted(std::span<const Tensor> values, std::span<const double> weights,
                  std::int64_t begin, std::int64_t end, T* to) {
  for (std::size_t p = 0; p < values.size(); ++p) {
    const auto* in = values[p].read<T>().data() + begin;
    const auto scale = static_cast<T>(weights[p]);
    const auto count = end - begin;
    if (p == 0)
      for (std::int64_t i = 0; i < count; ++i) to[i] = scale * in[i];
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] += scale * in[i];
  }
}

}  // namespace troupe
