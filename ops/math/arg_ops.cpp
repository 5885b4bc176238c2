#include <functional>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/math/reduction_families.h"
#include "troupe/ops/op.h"
#include "troupe/ops/reductions.h"

namespace troupe {
namespace {

void arg_shape(InferContext& c) {
  if (!is_numeric(c.dtype(0))) c.fail("x is ", c.dtype(0), ", but must be a number");
  const auto& shape = c.shape(0);
  const int axis = c.axis("axis", shape.rank());
  if (shape[axis] == 0) c.fail("x has shape ", shape, ", and there is no best of no values");
  std::vector<std::int64_t> extents;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) extents.push_back(shape[i]);
  c.output(DType::int64, Shape(extents));
}

/// x seen as [outer, count, inner]: the index along the middle axis of the value
/// that beats all others. Of equal ones the first, and NaN beats all, as in NumPy.
template <class T, class Beats>
struct ArgKernel final : Kernel {
  explicit ArgKernel(const KernelInit& init) {
    const auto& shape = init.inputs[0].shape;
    const auto given = init.attributes().get<std::int64_t>("axis");
    const int axis = shape.axis(static_cast<int>(given));
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    count = shape[axis];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    cost = kCycles * static_cast<double>(outer * count * inner);
  }

  void run(const Run& run) override {
    const auto* x = run.in<T>(0);
    auto* y = run.out<std::int64_t>();
    run.intra.parallel_for(outer, kCycles * static_cast<double>(count * inner),
                           [&](auto begin, auto end) {
                             for (auto i = begin; i < end; ++i)
                               find(x + i * count * inner, y + i * inner);
                           });
  }

  void find(const T* x, std::int64_t* best) const {
    std::fill_n(best, inner, 0);
    for (std::int64_t k = 1; k < count; ++k)
      for (std::int64_t i = 0; i < inner; ++i) {
        const T value = x[k * inner + i];
        const T so_far = x[best[i] * inner + i];
        if (Beats()(value, so_far) || (value != value && so_far == so_far)) best[i] = k;
      }
  }

  static constexpr double kCycles = 2;  // of one value
  std::int64_t outer = 1, count = 1, inner = 1;
};

template <template <class> class Beats>
KernelPtr arg_cpu(const KernelInit& init) {
  return dispatch_numeric(init.dtype(), init.node.op->name, [&]<class T>() -> KernelPtr {
    return std::make_unique<ArgKernel<T, Beats<T>>>(init);
  });
}

const OpDef arg_max_op{.name = "arg_max",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = arg_shape,
                       .cpu = arg_cpu<std::greater>};
const OpDef arg_min_op{.name = "arg_min",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = arg_shape,
                       .cpu = arg_cpu<std::less>};

}  // namespace

OpFamily arg_ops() { return {&arg_max_op, &arg_min_op}; }

Output arg_max(Output x, int axis) {
  return x.graph().add("arg_max", {x}, {{"axis", axis}}).output(0);
}
Output arg_min(Output x, int axis) {
  return x.graph().add("arg_min", {x}, {{"axis", axis}}).output(0);
}

}  // namespace troupe
