#include "troupe/actors/aggregation/weighted_sum.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/optim/weighted_block.h"

namespace troupe {

Tensor weighted_sum(const TensorList& values, const std::vector<double>& weights, IntraOp& intra) {
  if (values.size() == 1 && weights[0] == 1) return values[0];
  auto sum = Tensor::uninitialized(values[0].dtype(), values[0].shape());
  dispatch_floating(sum.dtype(), "gradient", [&]<class T>() {
    auto* out = sum.write<T>().data();
    constexpr double kCyclesPerValue = 1;
    intra.parallel_for(sum.size(), kCyclesPerValue * static_cast<double>(values.size()),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (auto at = begin; at < end; at += kWeightedBlock)
                           add_weighted<T>(values, weights, at, std::min(end, at + kWeightedBlock),
                                           out + at);
                       });
  });
  return sum;
}

Tensor stacked_rows(const TensorList& rows, const std::vector<double>& weights) {
  if (rows.size() == 1 && weights[0] == 1) return rows[0];
  std::int64_t count = 0;
  for (const auto& part : rows) count += part.shape()[0];
  auto shape = rows[0].shape();
  shape.set(0, count);
  auto all = Tensor::uninitialized(rows[0].dtype(), shape);
  dispatch_floating(all.dtype(), "gradient", [&]<class T>() {
    auto* out = all.write<T>().data();
    for (std::size_t p = 0; p < rows.size(); ++p)
      for (const auto value : rows[p].template read<T>())
        *out++ = static_cast<T>(weights[p]) * value;
  });
  return all;
}

Tensor stacked_indices(const TensorList& indices) {
  if (indices.size() == 1) return indices[0];
  std::vector<std::int64_t> all;
  for (const auto& part : indices)
    for (std::int64_t i = 0; i < part.size(); ++i)
      all.push_back(static_cast<std::int64_t>(part.at(i)));
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(all.size())}, all);
}

double squared_norm(const Tensor& values, IntraOp& intra) {
  // Sums of fixed blocks, added in order: the same bits with any number of threads.
  constexpr std::int64_t kBlock = 1 << 14;
  const auto blocks = (values.size() + kBlock - 1) / kBlock;
  std::vector<double> sums(static_cast<std::size_t>(blocks));
  dispatch_floating(values.dtype(), "gradient", [&]<class T>() {
    const auto* in = values.read<T>().data();
    intra.parallel_for(blocks, static_cast<double>(kBlock),
                       [&](std::int64_t first, std::int64_t last) {
                         for (auto block = first; block < last; ++block) {
                           // Several sums at a time: additions of one would wait for each other.
                           constexpr int kLanes = 8;
                           double lanes[kLanes] = {};
                           const auto begin = block * kBlock;
                           const auto end = std::min(begin + kBlock, values.size());
                           auto i = begin;
                           for (; i + kLanes <= end; i += kLanes)
                             for (int lane = 0; lane < kLanes; ++lane) {
                               const auto x = static_cast<double>(in[i + lane]);
                               lanes[lane] += x * x;
                             }
                           for (; i < end; ++i)
                             lanes[0] += static_cast<double>(in[i]) * static_cast<double>(in[i]);
                           double sum = 0;
                           for (const auto lane : lanes) sum += lane;
                           sums[static_cast<std::size_t>(block)] = sum;
                         }
                       });
  });
  double total = 0;
  for (const auto sum : sums) total += sum;
  return total;
}

bool all_finite(const Tensor& values, IntraOp& intra) {
  if (!is_floating(values.dtype())) return true;
  std::atomic<bool> finite{true};
  dispatch_floating(values.dtype(), "gradient", [&]<class T>() {
    const auto* in = values.read<T>().data();
    intra.parallel_for(values.size(), 1, [&](std::int64_t begin, std::int64_t end) {
      // x * 0 is 0 for every finite x, and NaN for all others: no branch for each value.
      constexpr int kLanes = 16;
      T lanes[kLanes] = {};
      auto i = begin;
      for (; i + kLanes <= end; i += kLanes)
        for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += in[i + lane] * T(0);
      for (; i < end; ++i) lanes[0] += in[i] * T(0);
      for (const auto lane : lanes)
        if (!(lane == T(0))) finite.store(false, std::memory_order_relaxed);
    });
  });
  return finite.load();
}

}  // namespace troupe
