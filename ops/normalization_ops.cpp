#include "troupe/ops/normalization.h"

#include <algorithm>

#include "troupe/ops/catalog.h"
#include "troupe/ops/channels.h"
#include "troupe/ops/dispatch.h"
#include "troupe/ops/simd/channel_kernels.h"
#include "troupe/ops/simd/lrn_kernels.h"

namespace troupe {
namespace {

template <class Fn>
KernelPtr dispatch(const KernelInit& init, Fn fn) {
  return dispatch_floating(init.dtype(), init.node.op->name, fn);
}

// ---- bias

void bias_add_shape(InferContext& c) {
  expect_channels(c, 1, c.inputs());
  c.output(c.input(0));
}

KernelPtr bias_add_cpu(const KernelInit& init) {
  const ChannelMatrix matrix(init.inputs[0].shape);
  return dispatch(init, [&]<class T>() {
    const auto add = TROUPE_PICK(add_row<T>);
    return make_kernel(
        [matrix, add, bias = std::vector<T>(matrix.columns())](const Run& run) mutable {
          matrix.repeat(run.in<T>(1), bias.data());
          matrix.for_blocks(run.intra, 0.5, [&](auto offset, auto rows, auto columns) {
            add(run.in<T>(0) + offset, bias.data(), run.out<T>() + offset, rows, columns);
          });
        });
  });
}

void bias_add_gradient_shape(InferContext& c) {
  expect_channels(c, 1, c.inputs());
  c.output(c.dtype(0), {c.shape(0)[-1]});
}

KernelPtr bias_add_gradient_cpu(const KernelInit& init) {
  const ChannelMatrix matrix(init.inputs[0].shape);
  return dispatch(init, [&]<class T>() {
    const auto sum = TROUPE_PICK(sum_rows<T>);
    return make_kernel([matrix, sum, sums = ChannelSums<T>(matrix, 1)](const Run& run) mutable {
      sums.run(run.intra, [&](auto offset, auto rows, auto columns, T* to) {
        sum(run.in<T>(0) + offset, to, rows, columns);
      });
      for (std::int64_t c = 0; c < matrix.channels(); ++c)
        run.out<T>()[c] = static_cast<T>(sums.total(0, c));
    });
  });
}

GradientList bias_add_gradient(const Backward& b) {
  return {b.dy(), b.graph().add("bias_add_grad", {b.dy()}).output(0)};
}

// The gradients of a ReLU and of the bias in front of it in one pass. Inputs dy and
// the output of the ReLU; a device puts it in the place of relu_grad and bias_add_grad.

void relu_bias_gradient_shape(InferContext& c) {
  expect_channels(c, 2, c.inputs());
  expect_same_shape(c, 1);
  c.output(c.input(0));
  c.output(c.dtype(0), {c.shape(0)[-1]});
}

KernelPtr relu_bias_gradient_cpu(const KernelInit& init) {
  const ChannelMatrix matrix(init.inputs[0].shape);
  return dispatch(init, [&]<class T>() {
    const auto pass = TROUPE_PICK(relu_gradient_sums<T>);
    return make_kernel([matrix, pass, sums = ChannelSums<T>(matrix, 1)](const Run& run) mutable {
      sums.run(run.intra, [&](auto offset, auto rows, auto columns, T* to) {
        pass(run.in<T>(0) + offset, run.in<T>(1) + offset, run.out<T>() + offset, to, rows,
             columns);
      });
      for (std::int64_t c = 0; c < matrix.channels(); ++c)
        run.out<T>(1)[c] = static_cast<T>(sums.total(0, c));
    });
  });
}

// ---- local response normalisation

simd::LrnSizes lrn_sizes(const Attributes& attributes, const Shape& images) {
  auto radius = attributes.get<std::int64_t>("depth_radius");
  // There is nothing beyond the channels: whatever a graph asks for, memory stays in bounds.
  if (images[-1] != Shape::kUnknown) radius = std::min(radius, images[-1]);
  return {images[-1], radius, attributes.get<double>("bias"), attributes.get<double>("alpha"),
          attributes.get<double>("beta")};
}

void lrn_shape(InferContext& c) {
  c.expect_floating(0);
  c.expect_rank(0, 4, "[batch, height, width, channels]");
  if (c.inputs() > 1) expect_same_shape(c, 1);
  const auto sizes = lrn_sizes(c.attributes(), c.shape(0));
  if (sizes.radius < 0) c.fail("depth_radius is ", sizes.radius, ", but must not be negative");
  c.output(c.input(0));
}

/// A kernel that calls work(run, sizes, offset, pixels, scratch) for some pixels
/// of each thread.
template <class T, class Fn>
KernelPtr for_pixels(const KernelInit& init, double cycles_per_value, Fn work) {
  const auto& images = init.inputs[0].shape;
  const auto sizes = lrn_sizes(init.attributes(), images);
  const auto pixels = ChannelMatrix(images).pixels();
  const auto cycles = cycles_per_value * static_cast<double>(images.volume());
  const auto shards = worthwhile_shards(cycles, std::min<std::int64_t>(pixels, init.threads));
  return make_kernel(
      [=, scratch = std::vector<T>(shards * sizes.scratch())](const Run& run) mutable {
        run.intra.run(shards, [&](int i) {
          const auto begin = pixels * i / shards;
          const auto end = pixels * (i + 1) / shards;
          work(run, sizes, begin * sizes.channels, end - begin,
               scratch.data() + i * sizes.scratch());
        });
      },
      cycles);
}

KernelPtr lrn_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    const auto normalize = TROUPE_PICK(lrn<T>);
    return for_pixels<T>(
        init, 2,
        [normalize](const Run& run, const auto& sizes, auto offset, auto pixels, T* scratch) {
          normalize(sizes, run.in<T>(0) + offset, run.out<T>() + offset, scratch, pixels);
        });
  });
}

KernelPtr lrn_gradient_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    const auto gradient = TROUPE_PICK(lrn_gradient<T>);
    return for_pixels<T>(
        init, 4,
        [gradient](const Run& run, const auto& sizes, auto offset, auto pixels, T* scratch) {
          gradient(sizes, run.in<T>(0) + offset, run.in<T>(1) + offset, run.out<T>() + offset,
                   scratch, pixels);
        });
  });
}

GradientList lrn_gradient(const Backward& b) {
  return {b.graph().add("lrn_grad", {b.x(), b.dy()}, b.attributes()).output(0)};
}

// ---- definitions

const OpDef bias_add_op{.name = "bias_add",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .infer = bias_add_shape,
                        .cpu = bias_add_cpu,
                        .gradient = bias_add_gradient,
                        .in_place = true};
const OpDef bias_add_grad_op{.name = "bias_add_grad",
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .infer = bias_add_gradient_shape,
                             .cpu = bias_add_gradient_cpu};
const OpDef relu_bias_grad_op{.name = "relu_bias_grad",
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .infer = relu_bias_gradient_shape,
                              .cpu = relu_bias_gradient_cpu,
                              .in_place = true};
const OpDef lrn_op{.name = "lrn",
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .infer = lrn_shape,
                   .cpu = lrn_cpu,
                   .gradient = lrn_gradient};
const OpDef lrn_grad_op{.name = "lrn_grad",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .infer = lrn_shape,
                        .cpu = lrn_gradient_cpu};

}  // namespace

OpFamily normalization_ops() {
  return {&bias_add_op, &bias_add_grad_op, &relu_bias_grad_op, &lrn_op, &lrn_grad_op};
}

Output bias_add(Output x, Output bias) { return x.graph().add("bias_add", {x, bias}).output(0); }

Output lrn(Output images, const LrnOptions& options) {
  return images.graph()
      .add("lrn", {images},
           {{"depth_radius", options.depth_radius},
            {"bias", options.bias},
            {"alpha", options.alpha},
            {"beta", options.beta}})
      .output(0);
}

}  // namespace troupe
