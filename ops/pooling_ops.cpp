#include "troupe/ops/pooling.h"

#include "troupe/ops/catalog.h"
#include "troupe/ops/channels.h"
#include "troupe/ops/dispatch.h"
#include "troupe/ops/simd/pooling_kernels.h"

namespace troupe {
namespace {

Slides slides_of(const Attributes& attributes, const Shape& images) {
  const auto window = pair_attribute(attributes, "window");
  return slides(attributes, images[1], images[2], window[0], window[1]);
}

Shape pooled(const InferContext& c) {
  c.expect_floating(0);
  c.expect_rank(0, 4, "[batch, height, width, channels]");
  const auto& images = c.shape(0);
  const auto [rows, columns] = slides_of(c.attributes(), images);
  return {images[0], rows.output, columns.output, images[3]};
}

void forward_shape(InferContext& c) { c.output(c.dtype(0), pooled(c)); }

// Inputs after the first have the shape of the output.
void gradient_shape(InferContext& c) {
  const auto output = pooled(c);
  for (int i = 1; i < c.inputs(); ++i) {
    c.expect_same_dtype(0, i);
    if (!compatible(c.shape(i), output))
      c.fail("input ", i, " has shape ", c.shape(i), ", but the output of the pooling ", output);
  }
  c.output(c.input(0));
}

/// A kernel that calls work(image, sizes, offset of the image in the input, and
/// in the output) for each image, shared out between the threads of the device.
template <class T, class Fn>
KernelPtr for_images(const KernelInit& init, double cycles_per_value, Fn work) {
  const auto& images = init.inputs[0].shape;
  const auto [rows, columns] = slides_of(init.attributes(), images);
  const auto axis = [](const Slide& s) {
    return simd::PoolingSizes::Axis{s.input, s.window, s.stride, s.output, s.before};
  };
  const simd::PoolingSizes sizes{axis(rows), axis(columns), images[3]};
  const auto batch = images[0];
  const auto in = rows.input * columns.input * images[3];
  const auto out = rows.output * columns.output * images[3];
  const auto cost = cycles_per_value * static_cast<double>(sizeof(T) * (in + out));
  return make_kernel(
      [=](const Run& run) {
        run.intra.parallel_for(batch, cost, [&](auto begin, auto end) {
          for (auto i = begin; i < end; ++i) work(run, sizes, i * in, i * out);
        });
      },
      cost * static_cast<double>(batch));
}

template <class Fn>
KernelPtr dispatch(const KernelInit& init, Fn fn) {
  return dispatch_floating(init.dtype(), init.node.op->name, fn);
}

KernelPtr max_pool_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    const auto pool = TROUPE_PICK(max_pool<T>);
    return for_images<T>(init, 0.1, [pool](const Run& run, const auto& sizes, auto in, auto out) {
      pool(sizes, run.in<T>(0) + in, run.out<T>() + out);
    });
  });
}

KernelPtr max_pool_gradient_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    const auto gradient = TROUPE_PICK(max_pool_gradient<T>);
    return for_images<T>(init, 0.2,
                         [gradient](const Run& run, const auto& sizes, auto in, auto out) {
                           gradient(sizes, run.in<T>(0) + in, run.in<T>(1) + out,
                                    run.in<T>(2) + out, run.out<T>() + in);
                         });
  });
}

// ---- max_pool that remembers who won: nobody builds a graph of these by hand, a
// device puts them in the place of max_pool, of its gradient, and of that of a ReLU
// and a bias in front of it. The way back reads neither the images nor the maxima.

bool follows_relu(const Attributes& attributes) { return attributes.get<bool>("relu"); }

void winners_shape(InferContext& c) {
  const auto output = pooled(c);
  const auto window = pair_attribute(c.attributes(), "window");
  if (window[0] * window[1] > simd::kNoWinner)
    c.fail("window is ", Shape{window[0], window[1]}, ", but may have at most ",
           std::int64_t{simd::kNoWinner}, " places; use max_pool");
  c.output(c.dtype(0), output);
  c.output(DType::uint8, output);
}

// Inputs images (of which only the shape matters), winners and gradient.
void winners_gradient_shape(InferContext& c) {
  const auto output = pooled(c);
  c.expect_same_dtype(0, 2);
  if (c.dtype(1) != DType::uint8 || !compatible(c.shape(1), output) ||
      !compatible(c.shape(2), output))
    c.fail("the winners are ", c.input(1), " and the gradient is ", c.input(2),
           ", but both need shape ", output, ", the winners uint8");
  c.output(c.input(0));
}

// Inputs gradient and winners.
void winners_bias_gradient_shape(InferContext& c) {
  expect_channels(c, 2, c.inputs());
  if (c.dtype(1) != DType::uint8 || !compatible(c.shape(1), c.shape(0)))
    c.fail("the winners are ", c.input(1), ", but must be uint8 in the shape of the gradient, ",
           c.shape(0));
  c.output(c.dtype(0), {c.shape(0)[-1]});
}

KernelPtr winners_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    const auto pool = TROUPE_PICK(max_pool_winners<T>);
    const bool relu = follows_relu(init.attributes());
    return for_images<T>(
        init, 0.1, [pool, relu](const Run& run, const auto& sizes, auto in, auto out) {
          pool(sizes, relu, run.in<T>(0) + in, run.out<T>() + out, run.out<std::uint8_t>(1) + out);
        });
  });
}

KernelPtr winners_gradient_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    const auto gradient = TROUPE_PICK(max_pool_winners_gradient<T>);
    return for_images<T>(
        init, 0.15, [gradient](const Run& run, const auto& sizes, auto in, auto out) {
          gradient(sizes, run.in<std::uint8_t>(1) + out, run.in<T>(2) + out, run.out<T>() + in);
        });
  });
}

KernelPtr winners_bias_gradient_cpu(const KernelInit& init) {
  const ChannelMatrix matrix(init.inputs[0].shape);
  return dispatch(init, [&]<class T>() {
    const auto sum = TROUPE_PICK(sum_won_rows<T>);
    return make_kernel([matrix, sum, sums = ChannelSums<T>(matrix, 1)](const Run& run) mutable {
      sums.run(run.intra, [&](auto offset, auto rows, auto columns, T* to) {
        sum(run.in<T>(0) + offset, run.in<std::uint8_t>(1) + offset, to, rows, columns);
      });
      for (std::int64_t c = 0; c < matrix.channels(); ++c)
        run.out<T>()[c] = static_cast<T>(sums.total(0, c));
    });
  });
}

KernelPtr avg_pool_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    const auto pool = TROUPE_PICK(avg_pool<T>);
    return for_images<T>(init, 0.1, [pool](const Run& run, const auto& sizes, auto in, auto out) {
      pool(sizes, run.in<T>(0) + in, run.out<T>() + out);
    });
  });
}

KernelPtr avg_pool_gradient_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    const auto gradient = TROUPE_PICK(avg_pool_gradient<T>);
    return for_images<T>(init, 0.1,
                         [gradient](const Run& run, const auto& sizes, auto in, auto out) {
                           gradient(sizes, run.in<T>(1) + out, run.out<T>() + in);
                         });
  });
}

GradientList max_pool_backward(const Backward& b) {
  return {b.graph().add("max_pool_grad", {b.x(), b.y(), b.dy()}, b.attributes()).output(0)};
}

GradientList avg_pool_backward(const Backward& b) {
  return {b.graph().add("avg_pool_grad", {b.x(), b.dy()}, b.attributes()).output(0)};
}

const OpDef max_pool_op{.name = "max_pool",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .infer = forward_shape,
                        .cpu = max_pool_cpu,
                        .gradient = max_pool_backward};
const OpDef max_pool_grad_op{.name = "max_pool_grad",
                             .min_inputs = 3,
                             .max_inputs = 3,
                             .infer = gradient_shape,
                             .cpu = max_pool_gradient_cpu};
const OpDef winners_op{.name = "max_pool_winners",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = winners_shape,
                       .cpu = winners_cpu};
const OpDef winners_grad_op{.name = "max_pool_winners_grad",
                            .min_inputs = 3,
                            .max_inputs = 3,
                            .infer = winners_gradient_shape,
                            .cpu = winners_gradient_cpu,
                            .shape_only = 1};
const OpDef winners_bias_grad_op{.name = "max_pool_winners_bias_grad",
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .infer = winners_bias_gradient_shape,
                                 .cpu = winners_bias_gradient_cpu};
const OpDef avg_pool_op{.name = "avg_pool",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .infer = forward_shape,
                        .cpu = avg_pool_cpu,
                        .gradient = avg_pool_backward};
const OpDef avg_pool_grad_op{.name = "avg_pool_grad",
                             .min_inputs = 2,
                             .max_inputs = 2,
                             .infer = gradient_shape,
                             .cpu = avg_pool_gradient_cpu,
                             .shape_only = 1};

Output pool(std::string_view op, Output images, const PoolingOptions& options) {
  const auto list = [](const auto& pair) {
    return std::vector<std::int64_t>(pair.begin(), pair.end());
  };
  return images.graph()
      .add(op, {images},
           {{"window", list(options.window)},
            {"strides", list(options.strides)},
            {"padding", to_string(options.padding)}})
      .output(0);
}

}  // namespace

OpFamily pooling_ops() {
  return {&max_pool_op,          &max_pool_grad_op, &winners_op,      &winners_grad_op,
          &winners_bias_grad_op, &avg_pool_op,      &avg_pool_grad_op};
}

Output max_pool(Output images, const PoolingOptions& options) {
  return pool("max_pool", images, options);
}
Output avg_pool(Output images, const PoolingOptions& options) {
  return pool("avg_pool", images, options);
}

}  // namespace troupe
