#include <cstring>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/math/broadcast_plan.h"
#include "troupe/ops/math/reduced_axes.h"
#include "troupe/ops/math/reduction_families.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/simd/reduce_loops.h"

namespace troupe {
namespace {

namespace fn = simd::portable;

// broadcast_like(x, like): x stretched to the shape of `like`, by NumPy's rule or,
// with the attribute axes, as the inverse of a reduction of `like` over them.
// With mean=true the values are divided by the number of places each one goes to.

Shape with_reduced_axes(const Attributes& attributes, const Shape& x, const Shape& like) {
  if (!attributes.has("axes")) return x;
  return reduced_shape(like, reduced_axes(attributes, like), true);
}

void broadcast_like_shape(InferContext& c) {
  const auto& like = c.shape(1);
  if (c.attributes().has("axes")) {
    const auto wanted = reduced_shape(like, reduced_axes(c.attributes(), like),
                                      c.attributes().get_or("keep_dims", false));
    if (!compatible(c.shape(0), wanted))
      c.fail("x has shape ", c.shape(0), ", but a reduction of shape ", like, " gives ", wanted);
  } else if (!compatible(broadcast(c.shape(0), like), like)) {
    c.fail("x has shape ", c.shape(0), ", which does not stretch to ", like);
  }
  if (c.attributes().get_or("mean", false)) c.expect_floating(0);
  c.output(c.dtype(0), like);
}

template <class T>
void copy_row(const void* x, const void*, void* y, std::int64_t n) {
  std::memmove(y, x, static_cast<std::size_t>(n) * sizeof(T));
}

template <class T>
void fill_row(const void* x, const void*, void* y, std::int64_t n) {
  std::fill_n(static_cast<T*>(y), n, *static_cast<const T*>(x));
}

class BroadcastKernel final : public Kernel {
 public:
  BroadcastKernel(const KernelInit& init, const Shape& x)
      : plan_(x, init.outputs[0].shape), size_(static_cast<std::int64_t>(size_of(init.dtype()))) {
    dispatch_by_size(init.dtype(), "broadcast_like",
                     [&]<class T>() { loop_ = plan_.left_is_value() ? fill_row<T> : copy_row<T>; });
    cost = static_cast<double>(plan_.size()) * kCycles;
  }

  void run(const Run& run) override {
    const auto* x = static_cast<const std::byte*>(run.inputs[0]);
    auto* y = static_cast<std::byte*>(run.outputs[0]);
    run.intra.parallel_for(plan_.size(), kCycles, [&](auto begin, auto end) {
      plan_.for_each_row(begin, end, [&](auto from, auto, auto to, auto count) {
        loop_(x + from * size_, nullptr, y + to * size_, count);
      });
    });
  }

 private:
  static constexpr double kCycles = 0.5;
  BroadcastPlan plan_;
  std::int64_t size_;
  simd::BinaryLoop loop_ = nullptr;
};

/// Divides first, into memory of its own: x has fewer values than the result.
template <class T>
class MeanBroadcastKernel final : public Kernel {
 public:
  MeanBroadcastKernel(const KernelInit& init, const Shape& x)
      : broadcast_(init, x), scaled_(static_cast<std::size_t>(x.volume())) {
    const auto places = static_cast<double>(init.outputs[0].shape.volume()) /
                        static_cast<double>(std::max<std::size_t>(1, scaled_.size()));
    scale_ = static_cast<T>(1 / places);
    cost = broadcast_.cost;
  }

  void run(const Run& run) override {
    const auto* x = run.in<T>(0);
    for (std::size_t i = 0; i < scaled_.size(); ++i) scaled_[i] = x[i] * scale_;
    const void* inputs[] = {scaled_.data(), nullptr};
    broadcast_.run(Run{inputs, run.outputs, run.intra, run.seed});
  }

 private:
  BroadcastKernel broadcast_;
  std::vector<T> scaled_;
  T scale_;
};

KernelPtr broadcast_like_cpu(const KernelInit& init) {
  const auto x = with_reduced_axes(init.attributes(), init.inputs[0].shape, init.outputs[0].shape);
  if (!init.attributes().get_or("mean", false)) return std::make_unique<BroadcastKernel>(init, x);
  return dispatch_floating(init.dtype(), "broadcast_like", [&]<class T>() -> KernelPtr {
    return std::make_unique<MeanBroadcastKernel<T>>(init, x);
  });
}

GradientList broadcast_like_gradient(const Backward& b) {
  if (!b.attributes().has("axes")) return {sum_to_like(b.dy(), b.x(0)), {}};
  const Axes axes(b.attributes().get<std::vector<std::int64_t>>("axes"));
  const bool keep_dims = b.attributes().get_or("keep_dims", false);
  return {b.attributes().get_or("mean", false) ? reduce_mean(b.dy(), axes, keep_dims)
                                               : reduce_sum(b.dy(), axes, keep_dims),
          {}};
}

// sum_to_like(x, like): the inverse of broadcasting, for gradients. `like` may be
// absent and the attribute shape there instead.

void sum_to_like_shape(InferContext& c) {
  const auto& like = c.inputs() == 2 ? c.shape(1) : c.attributes().get<Shape>("shape");
  if (!is_numeric(c.dtype(0))) c.fail("x is ", c.dtype(0), ", but must be a number");
  if (!compatible(broadcast(c.shape(0), like), c.shape(0)))
    c.fail("x has shape ", c.shape(0), ", to which ", like, " does not broadcast");
  c.output(c.dtype(0), like);
}

KernelPtr sum_to_like_cpu(const KernelInit& init) {
  const auto& x = init.inputs[0].shape;
  const auto& like = init.outputs[0].shape;
  if (x.volume() == like.volume()) {
    const auto bytes = static_cast<std::size_t>(x.volume()) * size_of(init.dtype());
    return make_kernel([bytes](const Run& run) {
      if (run.outputs[0] != run.inputs[0] && bytes > 0)
        std::memcpy(run.outputs[0], run.inputs[0], bytes);
    });
  }
  AxisSet summed;
  for (int i = 1; i <= x.rank(); ++i)
    summed[x.rank() - i] = i > like.rank() || (like[-i] == 1 && x[-i] != 1);
  return dispatch_numeric(init.dtype(), "sum_to_like", [&]<class T>() {
    if constexpr (std::is_same_v<T, float>)
      return reduce_kernel(init, summed, simd::reduce_float().sum);
    else
      return reduce_kernel(init, summed, fn::reduce_of<fn::SumOf<T, T>>());
  });
}

GradientList sum_to_like_gradient(const Backward& b) {
  const auto dx = b.graph().add("broadcast_like", {b.dy(), b.x(0)}).output(0);
  if (b.inputs() == 1) return {dx};
  return {dx, {}};
}

const OpDef broadcast_like_op{.name = "broadcast_like",
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .infer = broadcast_like_shape,
                              .cpu = broadcast_like_cpu,
                              .gradient = broadcast_like_gradient,
                              .shape_only = 1 << 1};
const OpDef sum_to_like_op{.name = "sum_to_like",
                           .min_inputs = 1,
                           .max_inputs = 2,
                           .infer = sum_to_like_shape,
                           .cpu = sum_to_like_cpu,
                           .gradient = sum_to_like_gradient,
                           .in_place = true,
                           .shape_only = 1 << 1};

}  // namespace

OpFamily broadcast_like_ops() { return {&broadcast_like_op, &sum_to_like_op}; }

Output broadcast_like(Output x, Output like) {
  return x.graph().add("broadcast_like", {x, like}).output(0);
}

Output sum_to_like(Output x, Output like) {
  if (like.shape().known()) {
    if (x.shape() == like.shape()) return x;
    return x.graph().add("sum_to_like", {x}, {{"shape", like.shape()}}).output(0);
  }
  return x.graph().add("sum_to_like", {x, like}).output(0);
}

}  // namespace troupe
