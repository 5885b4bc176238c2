#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "troupe/actors/training/model.h"
#include "troupe/ops/initializers.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe::test {

constexpr std::int64_t kRecords = 96;
constexpr std::int64_t kRows = 8;

/// One weight for each record, which becomes smaller by 1 whenever an update has the record:
/// with batches of kRows records, and a learning rate of kRows.
inline Model counting_model(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, kRecords});
  m.inputs = {x};
  m.loss = reduce_mean(
      nn::dense(x, 1, {.name = "count", .kernel_initializer = init::zeros(), .use_bias = false}));
  return m;
}

/// Writes every `step`-th record from `first` on, as a line with a 1 at its number.
inline void write_records(const std::string& path, std::int64_t first = 0, std::int64_t step = 1) {
  std::ofstream out(path);
  for (auto i = first; i < kRecords; i += step)
    for (std::int64_t k = 0; k < kRecords; ++k)
      out << (k ? " " : "") << (k == i ? 1 : 0) << (k + 1 == kRecords ? "\n" : "");
}

}  // namespace troupe::test
