#include <cmath>

#include "troupe/ops/catalog.h"
#include "troupe/ops/channels.h"
#include "troupe/ops/dispatch.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/simd/channel_kernels.h"

namespace troupe {
namespace {

double epsilon_of(const Attributes& attributes) { return attributes.get<double>("epsilon"); }

/// Per channel values, repeated for the columns of a matrix.
template <class T>
struct Columns {
  explicit Columns(const ChannelMatrix& matrix) : values(matrix.columns()) {}

  /// from(channel) for every column.
  template <class From>
  void fill(const ChannelMatrix& matrix, From from) {
    for (std::int64_t c = 0; c < matrix.channels(); ++c) values[c] = static_cast<T>(from(c));
    for (auto c = matrix.channels(); c < matrix.columns(); ++c)
      values[c] = values[c - matrix.channels()];
  }
  const T* data() const { return values.data(); }
  T operator[](std::int64_t channel) const { return values[channel]; }

  std::vector<T> values;
};

// ---- by the statistics of the batch: x, scale, offset -> y, mean, variance

void training_shape(InferContext& c) {
  expect_channels(c, 1, 3);
  const Shape channels{c.shape(0)[-1]};
  c.output(c.input(0));
  c.output(c.dtype(0), channels);
  c.output(c.dtype(0), channels);
}

template <class T>
class Training final : public Kernel {
 public:
  explicit Training(const KernelInit& init)
      : matrix_(init.inputs[0].shape),
        epsilon_(epsilon_of(init.attributes())),
        sums_(matrix_, 2),
        mean_(matrix_),
        factor_(matrix_),
        offset_(matrix_) {}

  void run(const Run& run) override {
    const auto* x = run.in<T>(0);
    const auto* scale = run.in<T>(1);
    const auto* offset = run.in<T>(2);
    auto* mean = run.out<T>(1);
    auto* variance = run.out<T>(2);
    // Sums of what is left when the first pixel is taken away do not cancel
    // where the mean is large, as plain sums of squares would.
    mean_.fill(matrix_, [&](auto c) { return matrix_.pixels() > 0 ? x[c] : T{0}; });
    sums_.run(run.intra, [&](auto first, auto rows, auto columns, T* sums) {
      shifted_sums_(x + first, mean_.data(), sums, sums + matrix_.columns(), rows, columns);
    });
    const auto count = static_cast<double>(std::max<std::int64_t>(1, matrix_.pixels()));
    for (std::int64_t c = 0; c < matrix_.channels(); ++c) {
      const auto shifted = sums_.total(0, c) / count;
      mean[c] = static_cast<T>(mean_[c] + shifted);
      variance[c] = static_cast<T>(std::max(0.0, sums_.total(1, c) / count - shifted * shifted));
    }
    mean_.fill(matrix_, [&](auto c) { return mean[c]; });
    factor_.fill(matrix_, [&](auto c) { return scale[c] / std::sqrt(variance[c] + epsilon_); });
    offset_.fill(matrix_, [&](auto c) { return offset[c]; });
    matrix_.for_blocks(run.intra, 0.5, [&](auto first, auto rows, auto columns) {
      normalize_(x + first, mean_.data(), factor_.data(), offset_.data(), run.out<T>() + first,
                 rows, columns);
    });
  }

 private:
  const decltype(TROUPE_PICK(shifted_sums<T>)) shifted_sums_ = TROUPE_PICK(shifted_sums<T>);
  const decltype(TROUPE_PICK(normalize<T>)) normalize_ = TROUPE_PICK(normalize<T>);
  const ChannelMatrix matrix_;
  const double epsilon_;
  ChannelSums<T> sums_;
  Columns<T> mean_, factor_, offset_;
};

KernelPtr training_cpu(const KernelInit& init) {
  return dispatch_floating(init.dtype(), "batch_norm", [&]<class T>() -> KernelPtr {
    return std::make_unique<Training<T>>(init);
  });
}

// ---- by given statistics: x, scale, offset, mean, variance -> y

void inference_shape(InferContext& c) {
  expect_channels(c, 1, 5);
  c.output(c.input(0));
}

KernelPtr inference_cpu(const KernelInit& init) {
  const ChannelMatrix matrix(init.inputs[0].shape);
  const auto epsilon = epsilon_of(init.attributes());
  return dispatch_floating(init.dtype(), "batch_norm_inference", [&]<class T>() {
    const auto normalize = TROUPE_PICK(normalize<T>);
    return make_kernel([=, mean = Columns<T>(matrix), factor = Columns<T>(matrix),
                        offset = Columns<T>(matrix)](const Run& run) mutable {
      mean.fill(matrix, [&](auto c) { return run.in<T>(3)[c]; });
      factor.fill(matrix,
                  [&](auto c) { return run.in<T>(1)[c] / std::sqrt(run.in<T>(4)[c] + epsilon); });
      offset.fill(matrix, [&](auto c) { return run.in<T>(2)[c]; });
      matrix.for_blocks(run.intra, 0.5, [&](auto first, auto rows, auto columns) {
        normalize(run.in<T>(0) + first, mean.data(), factor.data(), offset.data(),
                  run.out<T>() + first, rows, columns);
      });
    });
  });
}

// ---- gradients: x, scale, mean, variance, dy -> dx, dscale, doffset (, dmean, dvariance)

template <bool kTraining>
void gradient_shape(InferContext& c) {
  expect_channels(c, 1, 4);
  expect_same_shape(c, 4);
  c.output(c.input(0));
  for (int i = 0; i < (kTraining ? 2 : 4); ++i) c.output(c.dtype(0), {c.shape(0)[-1]});
}

/// With r = 1 / sqrt(variance + epsilon) and n pixels a channel:
///   doffset = sum of dy        dscale = r sum of dy (x - mean)
///   dx = scale r dy                                                      (inference)
///   dx = scale r (dy - doffset / n - (x - mean) r dscale / n)            (training)
///   dmean = -scale r doffset   dvariance = -scale r r dscale / 2         (inference)
template <class T, bool kTraining>
class Gradient final : public Kernel {
 public:
  explicit Gradient(const KernelInit& init)
      : matrix_(init.inputs[0].shape),
        epsilon_(epsilon_of(init.attributes())),
        sums_(matrix_, 2),
        mean_(matrix_),
        factor_(matrix_),
        a_(matrix_),
        b_(matrix_) {}

  void run(const Run& run) override {
    const auto* x = run.in<T>(0);
    const auto* scale = run.in<T>(1);
    const auto* mean = run.in<T>(2);
    const auto* variance = run.in<T>(3);
    const auto* dy = run.in<T>(4);
    mean_.fill(matrix_, [&](auto c) { return mean[c]; });
    sums_.run(run.intra, [&](auto first, auto rows, auto columns, T* sums) {
      gradient_sums_(x + first, mean_.data(), dy + first, sums, sums + matrix_.columns(), rows,
                     columns);
    });
    const auto root = [&](auto c) { return 1 / std::sqrt(variance[c] + epsilon_); };
    for (std::int64_t c = 0; c < matrix_.channels(); ++c) {
      const auto doffset = sums_.total(0, c);
      const auto dscale = root(c) * sums_.total(1, c);
      run.out<T>(1)[c] = static_cast<T>(dscale);
      run.out<T>(2)[c] = static_cast<T>(doffset);
      if (!kTraining) {
        run.out<T>(3)[c] = static_cast<T>(-scale[c] * root(c) * doffset);
        run.out<T>(4)[c] = static_cast<T>(-scale[c] * root(c) * root(c) * dscale / 2);
      }
    }
    const auto share =
        kTraining ? 1.0 / static_cast<double>(std::max<std::int64_t>(1, matrix_.pixels())) : 0.0;
    factor_.fill(matrix_, [&](auto c) { return scale[c] * root(c); });
    a_.fill(matrix_, [&](auto c) { return share * sums_.total(0, c); });
    b_.fill(matrix_, [&](auto c) { return share * root(c) * root(c) * sums_.total(1, c); });
    matrix_.for_blocks(run.intra, 0.75, [&](auto first, auto rows, auto columns) {
      normalize_gradient_(x + first, mean_.data(), a_.data(), b_.data(), factor_.data(), dy + first,
                          run.out<T>() + first, rows, columns);
    });
  }

 private:
  const decltype(TROUPE_PICK(gradient_sums<T>)) gradient_sums_ = TROUPE_PICK(gradient_sums<T>);
  const decltype(TROUPE_PICK(normalize_gradient<T>)) normalize_gradient_ =
      TROUPE_PICK(normalize_gradient<T>);
  const ChannelMatrix matrix_;
  const double epsilon_;
  ChannelSums<T> sums_;
  Columns<T> mean_, factor_, a_, b_;
};

template <bool kTraining>
KernelPtr gradient_cpu(const KernelInit& init) {
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() -> KernelPtr {
    return std::make_unique<Gradient<T, kTraining>>(init);
  });
}

GradientList training_gradient(const Backward& b) {
  if (b.has_dy(1) || b.has_dy(2))
    fail(Code::unimplemented, "node '", b.y().name(),
         "' (batch_norm): no gradient flows through the mean and the variance; put stop_gradient "
         "in front of what uses them");
  if (!b.has_dy(0)) return GradientList(3);
  auto& node = b.graph().add("batch_norm_grad", {b.x(0), b.x(1), b.y(1), b.y(2), b.dy()},
                             {{"epsilon", epsilon_of(b.attributes())}});
  return {node.output(0), node.output(1), node.output(2)};
}

GradientList inference_gradient(const Backward& b) {
  auto& node = b.graph().add("batch_norm_inference_grad", {b.x(0), b.x(1), b.x(3), b.x(4), b.dy()},
                             {{"epsilon", epsilon_of(b.attributes())}});
  return {node.output(0), node.output(1), node.output(2), node.output(3), node.output(4)};
}

const OpDef training_op{.name = "batch_norm",
                        .min_inputs = 3,
                        .max_inputs = 3,
                        .infer = training_shape,
                        .cpu = training_cpu,
                        .gradient = training_gradient};
const OpDef inference_op{.name = "batch_norm_inference",
                         .min_inputs = 5,
                         .max_inputs = 5,
                         .infer = inference_shape,
                         .cpu = inference_cpu,
                         .gradient = inference_gradient};
const OpDef training_grad_op{.name = "batch_norm_grad",
                             .min_inputs = 5,
                             .max_inputs = 5,
                             .infer = gradient_shape<true>,
                             .cpu = gradient_cpu<true>};
const OpDef inference_grad_op{.name = "batch_norm_inference_grad",
                              .min_inputs = 5,
                              .max_inputs = 5,
                              .infer = gradient_shape<false>,
                              .cpu = gradient_cpu<false>};

}  // namespace

OpFamily batch_norm_ops() {
  return {&training_op, &inference_op, &training_grad_op, &inference_grad_op};
}

BatchNorm batch_norm(Output x, Output scale, Output offset, double epsilon) {
  auto& node = x.graph().add("batch_norm", {x, scale, offset}, {{"epsilon", epsilon}});
  return {node.output(0), node.output(1), node.output(2)};
}

Output batch_norm_inference(Output x, Output scale, Output offset, Output mean, Output variance,
                            double epsilon) {
  return x.graph()
      .add("batch_norm_inference", {x, scale, offset, mean, variance}, {{"epsilon", epsilon}})
      .output(0);
}

}  // namespace troupe
