#include <cmath>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/math/random_families.h"
#include "troupe/ops/math/random_words.h"
#include "troupe/ops/op.h"
#include "troupe/ops/random_ops.h"

namespace troupe {
namespace {

double rate_of(const Attributes& attributes) { return attributes.get<double>("rate"); }

/// The rate in 2^-32, and the scale that belongs to exactly that.
struct Odds {
  explicit Odds(const Attributes& attributes)
      : threshold(static_cast<std::uint32_t>(
            std::min(std::round(rate_of(attributes) * 0x1p32), 0x1p32 - 1))),
        scale(1 / (1 - threshold * 0x1p-32)) {}
  std::uint32_t threshold;  // a smaller word drops
  double scale;
};

/// Outputs: y, and the mask of what was kept, one byte a value: the gradient
/// reads it faster than it could draw the numbers once more.
void dropout_shape(InferContext& c) {
  c.expect_floating(0);
  const auto rate = rate_of(c.attributes());
  if (!(rate >= 0 && rate < 1)) c.fail("rate is ", rate, ", but must be in [0, 1)");
  c.output(c.input(0));
  c.output(DType::uint8, c.shape(0));
}

template <class T>
void dropout_loop(const T* x, const std::uint32_t* words, T* y, std::uint8_t* mask, std::int64_t n,
                  std::uint32_t threshold, T scale) {
  for (std::int64_t i = 0; i < n; ++i) {
    mask[i] = words[i] >= threshold;
    y[i] = mask[i] ? scale * x[i] : T{0};
  }
}

KernelPtr dropout_cpu(const KernelInit& init) {
  const Odds odds(init.attributes());
  const auto count = init.outputs[0].shape.volume();
  return dispatch_floating(init.dtype(), "dropout", [&]<class T>() {
    return make_kernel(
        [=, random = RandomWords(init)](const Run& run) {
          const auto* x = run.in<T>(0);
          auto* y = run.out<T>(0);
          auto* mask = run.out<std::uint8_t>(1);
          random.for_each_piece(run, count, 1, [&](auto* words, auto begin, auto n) {
            if constexpr (std::is_same_v<T, float>)
              simd::random_loops().dropout(x + begin, words, y + begin, mask + begin, n,
                                           odds.threshold, static_cast<T>(odds.scale));
            else
              dropout_loop(x + begin, words, y + begin, mask + begin, n, odds.threshold,
                           static_cast<T>(odds.scale));
          });
        },
        static_cast<double>(count) * (RandomWords::kCycles + 1));
  });
}

GradientList dropout_gradient(const Backward& b) {
  return {b.graph().add("dropout_grad", {b.dy(), b.y(1)}, b.attributes()).output(0)};
}

void dropout_grad_shape(InferContext& c) {
  c.expect_floating(0);
  if (c.dtype(1) != DType::uint8 || !compatible(c.shape(0), c.shape(1)))
    c.fail("dy is ", c.input(0), ", but the mask is ", c.input(1));
  c.output(c.input(0));
}

KernelPtr dropout_grad_cpu(const KernelInit& init) {
  const auto scale = Odds(init.attributes()).scale;
  const auto count = init.outputs[0].shape.volume();
  return dispatch_floating(init.dtype(), "dropout_grad", [&]<class T>() {
    return make_kernel(
        [=](const Run& run) {
          const auto* dy = run.in<T>(0);
          const auto* mask = run.in<std::uint8_t>(1);
          auto* dx = run.out<T>();
          run.intra.parallel_for(count, 0.5, [&](auto begin, auto end) {
            if constexpr (std::is_same_v<T, float>)
              simd::random_loops().dropout_grad(dy + begin, mask + begin, dx + begin, end - begin,
                                                static_cast<T>(scale));
            else
              for (; begin < end; ++begin)
                dx[begin] = mask[begin] ? static_cast<T>(scale) * dy[begin] : T{0};
          });
        },
        static_cast<double>(count) * 0.5);
  });
}

const OpDef dropout_op{.name = "dropout",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = dropout_shape,
                       .cpu = dropout_cpu,
                       .gradient = dropout_gradient,
                       .in_place = true,
                       .stateful = true};
const OpDef dropout_grad_op{.name = "dropout_grad",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .infer = dropout_grad_shape,
                            .cpu = dropout_grad_cpu,
                            .in_place = true};

}  // namespace

OpFamily dropout_ops() { return {&dropout_op, &dropout_grad_op}; }

Output dropout(Output x, double rate, std::int64_t seed) {
  return x.graph().add("dropout", {x}, {{"rate", rate}, {"seed", seed}}).output(0);
}

}  // namespace troupe
