#include "troupe/ops/nn/metrics.h"

#include "troupe/ops/elementwise.h"
#include "troupe/ops/losses.h"
#include "troupe/ops/reductions.h"

namespace troupe::nn {

Output accuracy(Output logits, Output labels) {
  const auto right = equal(arg_max(logits, -1), cast(labels, DType::int64));
  return reduce_mean(cast(right, DType::float32));
}

Output top_k_accuracy(Output logits, Output labels, std::int64_t k) {
  return reduce_mean(cast(in_top_k(logits, labels, k), DType::float32));
}

}  // namespace troupe::nn
