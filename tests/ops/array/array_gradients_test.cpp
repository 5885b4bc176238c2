// Gradients of the ops that move values, against finite differences, with the
// extents known when the graph is built and not.

#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "troupe/ops/array.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/reductions.h"

namespace troupe::test {
namespace {

using Build = std::function<Output(const OutputList&)>;

/// With all extents known, and with none.
void check(const Build& build, const std::vector<Shape>& shapes, const TensorList& more = {}) {
  TensorList inputs;
  for (const auto& shape : shapes) inputs.push_back(random_values(shape, inputs.size() + 1));
  inputs.insert(inputs.end(), more.begin(), more.end());
  GradientCheck open;
  for (const auto& input : inputs)
    open.declared.push_back(
        Shape(std::vector<std::int64_t>(input.shape().rank(), Shape::kUnknown)));
  {
    SCOPED_TRACE("known extents");
    check_gradient(build, inputs);
  }
  SCOPED_TRACE("unknown extents");
  check_gradient(build, inputs, open);
}

TEST(ArrayGradients, OfReshapes) {
  check([](auto& x) { return reshape(x[0], {3, -1}); }, {{2, 6}});
  check([](auto& x) { return flatten(x[0]); }, {{2, 3, 2}});
  check([](auto& x) { return expand_dims(x[0], 1); }, {{2, 3}});
  check([](auto& x) { return squeeze(x[0], {1}); }, {{2, 1, 3}});
}

TEST(ArrayGradients, OfTranspose) {
  check([](auto& x) { return transpose(x[0], {2, 0, 1}); }, {{2, 3, 4}});
  check([](auto& x) { return transpose(x[0]); }, {{2, 3}});
}

TEST(ArrayGradients, OfJoins) {
  check([](auto& x) { return concat(x, 1); }, {{2, 3}, {2, 1}, {2, 2}});
  check([](auto& x) { return concat({x[0], x[0]}, 0); }, {{2, 3}});
  check([](auto& x) { return stack(x, 1); }, {{2, 3}, {2, 3}});
}

TEST(ArrayGradients, OfParts) {
  // Only some outputs are used: no gradient reaches the others.
  check([](auto& x) { return split(x[0], {1, 2}, 1)[1]; }, {{2, 3}});
  check_gradient([](auto& x) { return unstack(x[0], 1)[2]; }, {random_values({2, 3}, 1)});
  check_gradient([](auto& x) { return concat(unstack(x[0], 1), 0); }, {random_values({2, 3}, 1)});
}

TEST(ArrayGradients, OfCuts) {
  check([](auto& x) { return slice(x[0], {1, 0}, {2, -1}); }, {{4, 3}});
  check([](auto& x) { return strided_slice(x[0], {3, 0}, {0, 3}, {-2, 2}); }, {{4, 3}});
  check([](auto& x) { return strided_slice(x[0], {-3}, {-1}); }, {{4, 2}});
  check([](auto& x) { return reverse(x[0], {1}); }, {{2, 3}});
}

TEST(ArrayGradients, OfGrowth) {
  check([](auto& x) { return pad(x[0], {1, 0, 0, 2}, 3); }, {{2, 3}});
  check([](auto& x) { return pad_reflect(x[0], {1, 0, 2, 2}); }, {{2, 3}});
  check([](auto& x) { return tile(x[0], {2, 3}); }, {{2, 3}});
}

TEST(ArrayGradients, OfPicks) {
  const auto indices = Tensor::of<std::int32_t>({2, 2}, {1, 0, 1, 1});
  check([](auto& x) { return gather(x[0], x[1]); }, {{3, 2}}, {indices});
  check([](auto& x) { return gather(x[0], x[1], 1); }, {{2, 3, 2}}, {indices});
  check_gradient(
      [](auto& x) {
        return scatter_rows(x[1], x[0], {4, 2});
      },
      {random_values({3, 2}, 1), Tensor::of<std::int64_t>({3}, {3, 0, 3})});
}

TEST(ArrayGradients, OfSparseGradientsThatMeet) {
  const auto a = Tensor::of<std::int32_t>({2}, {1, 0});
  const auto b = Tensor::of<std::int32_t>({3}, {1, 1, 2});
  // Two lookups in one table: the sparse parts are joined; beside a dense use they are added.
  check_gradient(
      [](auto& x) {
        return concat({gather(x[0], x[1]), gather(x[0], x[2])}, 0);
      },
      {random_values({3, 2}, 1), a, b});
  check_gradient(
      [](auto& x) {
        return concat({gather(x[0], x[1]), square(x[0])}, 0);
      },
      {random_values({3, 2}, 1), a, b});
}

TEST(ArrayGradients, OfCumsum) {
  check([](auto& x) { return cumsum(x[0], 1); }, {{2, 3}});
  check([](auto& x) { return cumsum(x[0], 0, {.exclusive = true, .reverse = true}); }, {{3, 2}});
}

TEST(ArrayGradients, OfGradients) {
  // A penalty on the gradient: every gradient op has a gradient of its own.
  const auto penalty = [](const Build& op) {
    return [op](const OutputList& x) {
      const auto y = op(x);
      const auto loss = reduce_sum(mul(mul(y, y), y));
      return gradients(loss, {x[0]})[0].dense();
    };
  };
  const Tensor x = random_values({3, 2}, 1);
  const Tensor indices = Tensor::of<std::int32_t>({2}, {2, 2});
  const auto check_twice = [&](const Build& op) {
    check_gradient(penalty(op), {x, indices});
    check_gradient(penalty(op), {x, indices}, {.declared = {{-1, -1}, {-1}}});
  };
  check_twice([](auto& x) { return reshape(x[0], {2, 3}); });
  check_twice([](auto& x) { return concat({x[0], x[0]}, 0); });
  check_twice([](auto& x) { return slice(x[0], {1, 0}, {2, -1}); });
  check_twice([](auto& x) { return strided_slice(x[0], {0}, {3}, {2}); });
  check_twice([](auto& x) { return pad(x[0], {1, 0, 0, 2}, 3); });
  check_twice([](auto& x) { return pad_reflect(x[0], {1, 0, 0, 1}); });
  check_twice([](auto& x) { return tile(x[0], {2, 1}); });
  check_twice([](auto& x) { return gather(x[0], x[1]); });
  check_twice([](auto& x) { return gather(transpose(x[0]), x[1], 1); });
}

}  // namespace
}  // namespace troupe::test
