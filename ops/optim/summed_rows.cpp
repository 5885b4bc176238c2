#include "troupe/ops/optim/summed_rows.h"

#include <algorithm>
#include <numeric>

#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

std::vector<std::int64_t> checked(const Tensor& indices, std::int64_t limit) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(indices.size()));
  if (indices.dtype() == DType::int32)
    std::ranges::copy(indices.read<std::int32_t>(), all.begin());
  else
    std::ranges::copy(indices.read<std::int64_t>(), all.begin());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] < 0 || all[i] >= limit)
      fail(Code::invalid_argument, "sparse gradient: index ", all[i], " at [", i,
           "] is outside [0, ", limit, ")");
  return all;
}

}  // namespace

SummedRows sum_rows(const Tensor& indices, const Tensor& rows, std::int64_t limit) {
  if ((indices.dtype() != DType::int32 && indices.dtype() != DType::int64) ||
      indices.shape().rank() != 1)
    fail(Code::invalid_argument, "the indices of a sparse gradient are ", indices.dtype(), ' ',
         indices.shape(), ", but must be int32 or int64 [count]");
  if (rows.shape().rank() == 0 || rows.shape()[0] != indices.size())
    fail(Code::invalid_argument, "the rows of the sparse gradient are ", rows.dtype(), ' ',
         rows.shape(), ", but there are ", indices.size(), " indices");
  auto all = checked(indices, limit);
  const auto follows = [](std::int64_t a, std::int64_t b) { return a >= b; };
  if (std::ranges::adjacent_find(all, follows) == all.end()) return {std::move(all), rows};

  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return all[i]; });
  SummedRows summed;
  for (const auto i : order)
    if (summed.indices.empty() || summed.indices.back() != all[i]) summed.indices.push_back(all[i]);
  auto shape = rows.shape();
  shape.set(0, static_cast<std::int64_t>(summed.indices.size()));
  summed.rows = Tensor::uninitialized(rows.dtype(), shape);
  const auto width = static_cast<std::size_t>(shape.without_first().volume());
  dispatch_floating(rows.dtype(), "sparse gradient", [&]<class T>() {
    const auto* from = rows.read<T>().data();
    auto* to = summed.rows.write<T>().data();
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto* row = from + order[i] * width;
      if (i == 0 || all[order[i]] != all[order[i - 1]]) {
        if (i > 0) to += width;
        std::copy_n(row, width, to);
      } else {
        for (std::size_t k = 0; k < width; ++k) to[k] += row[k];
      }
    }
  });
  return summed;
}

}  // namespace troupe
