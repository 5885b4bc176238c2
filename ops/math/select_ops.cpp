#include <array>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/op.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

/// condition, x and y have one shape, or are scalars.
void select_shape(InferContext& c) {
  if (c.dtype(0) != DType::boolean) c.fail("the condition is ", c.dtype(0), ", but must be bool");
  c.expect_same_dtype(1, 2);
  Shape shape;
  for (int i = 0; i < 3; ++i) {
    if (c.shape(i).rank() == 0) continue;
    if (shape.rank() > 0 && !compatible(shape, c.shape(i)))
      c.fail("input ", i, " has shape ", c.shape(i), ", but another has ", shape,
             "; all must be equal, or scalars");
    if (!shape.known() || shape.rank() == 0) shape = c.shape(i);
  }
  c.output(c.dtype(1), shape);
}

KernelPtr select_cpu(const KernelInit& init) {
  const auto count = init.outputs[0].shape.volume();
  const auto step = [&](int i) -> std::int64_t { return init.inputs[i].shape.rank() > 0; };
  const auto steps = std::array{step(0), step(1), step(2)};
  return dispatch_by_size(init.outputs[0].dtype, "select", [&]<class T>() {
    return make_kernel(
        [count, steps](const Run& run) {
          const auto* condition = run.in<bool>(0);
          const auto* x = run.in<T>(1);
          const auto* y = run.in<T>(2);
          auto* out = run.out<T>();
          const auto c = steps[0], s = steps[1], t = steps[2];
          run.intra.parallel_for(count, 1, [&](auto begin, auto end) {
            if (c + s + t == 3) {  // a loop of its own, for the compiler to make vector code of
              for (auto i = begin; i < end; ++i) out[i] = condition[i] ? x[i] : y[i];
            } else {
              for (auto i = begin; i < end; ++i) out[i] = condition[i * c] ? x[i * s] : y[i * t];
            }
          });
        },
        static_cast<double>(count));
  });
}

GradientList select_gradient(const Backward& b) {
  const auto nothing = constant(b.graph(), 0, b.dy().dtype());
  return {{},
          sum_to_like(select(b.x(0), b.dy(), nothing), b.x(1)),
          sum_to_like(select(b.x(0), nothing, b.dy()), b.x(2))};
}

const OpDef select_op{.name = "select",
                      .min_inputs = 3,
                      .max_inputs = 3,
                      .infer = select_shape,
                      .cpu = select_cpu,
                      .gradient = select_gradient};

}  // namespace

OpFamily select_ops() { return {&select_op}; }

Output select(Output condition, Output x, Output y) {
  return x.graph().add("select", {condition, x, y}).output(0);
}

}  // namespace troupe
