#include "troupe/ops/math/unary_kernel.h"

namespace troupe {

KernelPtr unary_kernel(const KernelInit& init, simd::UnaryLoop loop, double cycles, double p,
                       double q) {
  const auto count = init.outputs[0].shape.volume();
  const auto in = static_cast<std::int64_t>(size_of(init.inputs[0].dtype));
  const auto out = static_cast<std::int64_t>(size_of(init.outputs[0].dtype));
  return make_kernel(
      [=](const Run& run) {
        const auto* x = static_cast<const std::byte*>(run.inputs[0]);
        auto* y = static_cast<std::byte*>(run.outputs[0]);
        run.intra.parallel_for(count, cycles, [&](auto begin, auto end) {
          loop(x + begin * in, y + begin * out, end - begin, p, q);
        });
      },
      static_cast<double>(count) * cycles);
}

KernelPtr gradient_kernel(const KernelInit& init, simd::GradientLoop loop, double cycles, double p,
                          double q) {
  const auto count = init.outputs[0].shape.volume();
  const auto size = static_cast<std::int64_t>(size_of(init.dtype()));
  return make_kernel(
      [=](const Run& run) {
        const auto* dy = static_cast<const std::byte*>(run.inputs[0]);
        const auto* v = static_cast<const std::byte*>(run.inputs[1]);
        auto* dx = static_cast<std::byte*>(run.outputs[0]);
        run.intra.parallel_for(count, cycles, [&](auto begin, auto end) {
          loop(dy + begin * size, v + begin * size, dx + begin * size, end - begin, p, q);
        });
      },
      static_cast<double>(count) * cycles);
}

void floating_unary_shape(InferContext& c) {
  c.expect_floating(0);
  c.output(c.input(0));
}

void gradient_shape(InferContext& c) {
  c.expect_floating(0);
  c.expect_same_dtype(0, 1);
  if (!compatible(c.shape(0), c.shape(1)))
    c.fail("dy has shape ", c.shape(0), ", but the value it belongs to has shape ", c.shape(1));
  c.output(c.input(1).shape.known() ? c.input(1) : c.input(0));
}

}  // namespace troupe
