#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "troupe/ops/convolution.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/pooling.h"

namespace troupe::test {
namespace {

TEST(Matmul, HasTheGradientThatFiniteDifferencesMeasure) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      check_gradient(
          [&](const OutputList& x) {
            return matmul(x[0], x[1], {.transpose_a = ta, .transpose_b = tb});
          },
          {random_values(ta ? Shape{4, 3} : Shape{3, 4}, 1),
           random_values(tb ? Shape{2, 4} : Shape{4, 2}, 2)});
}

TEST(Conv2d, HasTheGradientThatFiniteDifferencesMeasure) {
  const ConvolutionOptions all[] = {
      {{1, 1}, Padding::valid, {1, 1}},
      {{2, 1}, Padding::same, {1, 1}},
      {{1, 1}, Padding::same, {2, 1}},
      {{3, 2}, Padding::valid, {1, 1}},
  };
  for (const auto& options : all) {
    check_gradient([&](const OutputList& x) { return conv2d(x[0], x[1], options); },
                   {random_values({2, 5, 4, 2}, 1), random_values({2, 3, 2, 3}, 2)});
    check_gradient([&](const OutputList& x) { return depthwise_conv2d(x[0], x[1], options); },
                   {random_values({2, 5, 4, 2}, 1), random_values({2, 3, 2, 2}, 2)});
  }
}

TEST(Pooling, HasTheGradientThatFiniteDifferencesMeasure) {
  for (auto* pool : {max_pool, avg_pool})
    for (const auto padding : {Padding::same, Padding::valid})
      check_gradient(
          [&](const OutputList& x) {
            return pool(x[0], {.window = {3, 2}, .strides = {2, 1}, .padding = padding});
          },
          {random_values({2, 5, 4, 3}, 1)}, {.declared = {{-1, 5, 4, 3}}});
}

TEST(Normalization, HasTheGradientThatFiniteDifferencesMeasure) {
  const auto x = random_values({2, 3, 2, 5}, 1);
  const auto scale = random_values({5}, 2, 1, 0.2);
  const auto offset = random_values({5}, 3);
  check_gradient([](const OutputList& in) { return bias_add(in[0], in[1]); }, {x, offset});
  for (const double beta : {0.75, 0.5, 1.0, 0.6})
    check_gradient(
        [&](const OutputList& in) {
          return lrn(in[0], {.depth_radius = 2, .bias = 2, .alpha = 0.3, .beta = beta});
        },
        {x});
  check_gradient([](const OutputList& in) { return batch_norm(in[0], in[1], in[2]).y; },
                 {x, scale, offset});
  check_gradient(
      [](const OutputList& in) { return batch_norm_inference(in[0], in[1], in[2], in[3], in[4]); },
      {x, scale, offset, offset, scale});
}

TEST(Softmax, HasTheGradientThatFiniteDifferencesMeasure) {
  for (auto* fn : {softmax, log_softmax})
    check_gradient([&](const OutputList& in) { return fn(in[0]); }, {random_values({3, 2, 5}, 1)},
                   {.declared = {{-1, 2, 5}}});
}

}  // namespace
}  // namespace troupe::test
