// The values and gradients that TensorFlow gives for the ops that move values.

#include <gtest/gtest.h>

#include "support/check_reference.h"
#include "troupe/ops/array.h"
#include "troupe/ops/losses.h"

namespace troupe::test {
namespace {

void check(const std::string& op,
           const std::function<Output(const OutputList&, const ReferenceCase&)>& build) {
  check_references("array.txt", op, build, {.float32 = 0, .float64 = 0});
}

TEST(ArrayReferences, Transpose) {
  check("transpose", [](auto& x, auto& c) { return transpose(x[0], c.integers("axes")); });
}

TEST(ArrayReferences, Concat) {
  check("concat", [](auto& x, auto& c) { return concat(x, static_cast<int>(c.integer("axis"))); });
}

TEST(ArrayReferences, Split) {
  check("split", [](auto& x, auto& c) {
    return split(x[0], c.integers("sizes"), static_cast<int>(c.integer("axis")))[0];
  });
}

TEST(ArrayReferences, Stack) {
  check("stack", [](auto& x, auto& c) { return stack(x, static_cast<int>(c.integer("axis"))); });
}

TEST(ArrayReferences, Unstack) {
  check("unstack",
        [](auto& x, auto& c) { return unstack(x[0], static_cast<int>(c.integer("axis")))[0]; });
}

TEST(ArrayReferences, Slice) {
  check("slice",
        [](auto& x, auto& c) { return slice(x[0], c.integers("begin"), c.integers("size")); });
}

TEST(ArrayReferences, StridedSlice) {
  check("strided_slice", [](auto& x, auto& c) {
    return strided_slice(x[0], c.integers("begin"), c.integers("end"), c.integers("strides"));
  });
}

TEST(ArrayReferences, Pad) {
  check("pad",
        [](auto& x, auto& c) { return pad(x[0], c.integers("paddings"), c.number("value")); });
}

TEST(ArrayReferences, Tile) {
  check_references("array.txt", "tile",
                   [](auto& x, auto& c) { return tile(x[0], c.integers("multiples")); },
                   {.float32 = 1e-6, .float64 = 1e-15});
}

TEST(ArrayReferences, Gather) {
  check_references(
      "array.txt", "gather",
      [](auto& x, auto& c) { return gather(x[0], x[1], static_cast<int>(c.integer("axis"))); },
      {.float32 = 1e-6, .float64 = 1e-15});
}

TEST(ArrayReferences, OneHot) {
  check("one_hot", [](auto& x, auto& c) {
    return one_hot(x[0], c.integer("depth"),
                   {.axis = static_cast<int>(c.integer("axis")),
                    .on = c.number("on_value"),
                    .off = c.number("off_value"),
                    .dtype = parse_dtype(c.attribute("dtype"))});
  });
}

TEST(ArrayReferences, InTopK) {
  check("in_top_k", [](auto& x, auto& c) { return in_top_k(x[0], x[1], c.integer("k")); });
}

}  // namespace
}  // namespace troupe::test
