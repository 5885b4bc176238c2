#include "troupe/ops/reductions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "support/check_reference.h"

namespace troupe::test {
namespace {

using ReduceOp = Output (*)(Output, const Axes&, bool);

struct Reduction {
  std::string name;  ///< in the reference file; the op is reduce_<name>
  ReduceOp function;
};
std::ostream& operator<<(std::ostream& out, const Reduction& reduction) {
  return out << reduction.name;
}

std::string name_of(const testing::TestParamInfo<Reduction>& info) { return info.param.name; }

class Reduce : public testing::TestWithParam<Reduction> {};
class ReduceNumbers : public Reduce {};

INSTANTIATE_TEST_SUITE_P(Ops, Reduce,
                         testing::Values(Reduction{"sum", reduce_sum},
                                         Reduction{"mean", reduce_mean},
                                         Reduction{"prod", reduce_prod},
                                         Reduction{"max", reduce_max}, Reduction{"min", reduce_min},
                                         Reduction{"any", reduce_any},
                                         Reduction{"all", reduce_all}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Ops, ReduceNumbers,
                         testing::Values(Reduction{"sum", reduce_sum},
                                         Reduction{"mean", reduce_mean},
                                         Reduction{"prod", reduce_prod},
                                         Reduction{"max", reduce_max},
                                         Reduction{"min", reduce_min}),
                         name_of);

TEST_P(Reduce, IsWhatTensorFlowComputes) {
  check_references("reductions.txt", GetParam().name, [](auto& x, auto& reference) {
    const auto axes = reference.has_attribute("axes") ? Axes(reference.integers("axes")) : Axes();
    return GetParam().function(x[0], axes, reference.flag("keep_dims"));
  });
}

TEST_P(ReduceNumbers, HasTheGradientThatFiniteDifferencesMeasure) {
  const auto x = evaluate(init::uniform(0.3, 2), DType::float64, {2, 3, 4}, "x", 1);
  for (const auto& axes : {Axes(), Axes({0}), Axes({1}), Axes({2}), Axes({0, 2}), Axes({-3, -2}),
                           Axes(std::vector<std::int64_t>{})})
    for (const bool keep_dims : {false, true})
      for (const auto& declared : {Shape{2, 3, 4}, Shape{-1, 3, -1}}) {
        SCOPED_TRACE(text(axes.list.size(), " axes of ", declared));
        check_gradient([&](auto& in) { return GetParam().function(in[0], axes, keep_dims); }, {x},
                       {.declared = {declared}});
      }
}

}  // namespace
}  // namespace troupe::test
