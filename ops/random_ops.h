#pragma once

#include "troupe/ops/graph.h"

// Ops that draw random numbers. What a node draws depends on its name, its seed
// attribute, the seed of the run and the position of the value alone: not on
// threads, on other nodes or on what was drawn before.

namespace troupe {

struct RandomOptions {
  DType dtype = DType::float32;
  std::int64_t seed = 0;  ///< mixed with the seed of the run
};

/// Uniform in [low, high). Throws invalid_argument when low is not below high or
/// an extent is not known.
Output random_uniform(Graph& graph, const Shape& shape, double low = 0, double high = 1,
                      const RandomOptions& options = {});

/// Integers, uniform in [low, high): int32 or int64.
Output random_uniform_int(Graph& graph, const Shape& shape, std::int64_t low, std::int64_t high,
                          const RandomOptions& options = {.dtype = DType::int64});

Output random_normal(Graph& graph, const Shape& shape, double mean = 0, double stddev = 1,
                     const RandomOptions& options = {});

/// Normal, drawn again while further than two standard deviations from the mean.
Output truncated_normal(Graph& graph, const Shape& shape, double mean = 0, double stddev = 1,
                        const RandomOptions& options = {});

/// For training: each value becomes 0 with probability `rate` in [0, 1), and is
/// divided by 1 - rate otherwise, so that its expectation stays (Srivastava et
/// al., JMLR 2014). Every run drops other values: its seed decides.
Output dropout(Output x, double rate, std::int64_t seed = 0);

}  // namespace troupe
