#include <algorithm>

#include "troupe/ops/catalog.h"
#include "troupe/ops/op.h"
#include "troupe/ops/simd/small_conv.h"
#include "troupe/ops/window.h"

// The first layer of a small network (see simd/small_conv.h) as one op, and its
// gradient as another. Nobody builds a graph of them by hand: a device puts them
// in the place of conv2d, bias_add, relu and max_pool, and of their gradients.

namespace troupe {
namespace {

/// A kernel of [height, width] on images [batch, height, width, 1].
simd::SmallConvShape sizes_of(const Attributes& attributes, const Shape& images,
                              std::int64_t kernel_height, std::int64_t kernel_width,
                              std::int64_t channels) {
  const auto strides = pair_attribute(attributes, "strides");
  if (strides[0] != 1)
    fail(Code::invalid_argument, "strides is ", Shape{strides[0], strides[1]},
         ", but the stride along the height must be 1");
  return {.height = images[1],
          .width = images[2],
          .kernel_height = kernel_height,
          .kernel_width = kernel_width,
          .stride_width = strides[1],
          .channels = channels};
}

void expect_supported(const InferContext& c, const simd::SmallConvShape& sizes) {
  c.expect_rank(0, 4, "[batch, height, width, 1]");
  if (c.dtype(0) != DType::float32 || c.shape(0)[3] != 1 || !simd::small_conv_supported(sizes))
    c.fail("cannot be done for ", c.input(0), ", a kernel of ",
           Shape{sizes.kernel_height, sizes.kernel_width}, ", a stride of ", sizes.stride_width,
           " and ", sizes.channels, " channels; use conv2d and max_pool");
}

Shape pooled_shape(const Shape& images, const simd::SmallConvShape& sizes) {
  return {images[0], sizes.pooled_height(), sizes.pooled_width(), sizes.channels};
}

// ---- images, weights, bias -> pooled, winners

simd::SmallConvShape forward_sizes(const Attributes& attributes, const Shape& images,
                                   const Shape& weights) {
  return sizes_of(attributes, images, weights[0], weights[1], weights[3]);
}

void forward_shape(InferContext& c) {
  c.expect_rank(0, 4, "[batch, height, width, 1]");
  c.expect_rank(1, 4, "[height, width, 1, channels]");
  const auto sizes = forward_sizes(c.attributes(), c.shape(0), c.shape(1));
  expect_supported(c, sizes);
  for (int i = 1; i < 3; ++i) c.expect_same_dtype(0, i);
  if (c.shape(1)[2] != 1 || !compatible(c.shape(2), {sizes.channels}))
    c.fail("the weights have shape ", c.shape(1), " and the bias ", c.shape(2),
           ", but need [height, width, 1, channels] and [channels]");
  const auto pooled = pooled_shape(c.shape(0), sizes);
  c.output(DType::float32, pooled);
  c.output(DType::uint8, pooled);
}

// ---- images, winners, gradient of pooled -> gradients of weights and bias

simd::SmallConvShape backward_sizes(const Attributes& attributes, const Shape& images,
                                    const Shape& winners) {
  const auto kernel = pair_attribute(attributes, "kernel");
  return sizes_of(attributes, images, kernel[0], kernel[1], winners[3]);
}

void backward_shape(InferContext& c) {
  c.expect_rank(0, 4, "[batch, height, width, 1]");
  c.expect_rank(1, 4, "[batch, pooled height, pooled width, channels]");
  const auto sizes = backward_sizes(c.attributes(), c.shape(0), c.shape(1));
  expect_supported(c, sizes);
  c.expect_same_dtype(0, 2);
  const auto pooled = pooled_shape(c.shape(0), sizes);
  if (c.dtype(1) != DType::uint8 || !compatible(c.shape(1), pooled) ||
      !compatible(c.shape(2), pooled))
    c.fail("the winners are ", c.input(1), " and the gradient is ", c.input(2),
           ", but both need shape ", pooled, ", the winners uint8");
  c.output(DType::float32, {sizes.kernel_height, sizes.kernel_width, 1, sizes.channels});
  c.output(DType::float32, {sizes.channels});
}

/// Images [begin, end) of each shard: whole groups of 16, which is how many the
/// kernel takes at a time.
class Shards {
 public:
  Shards(std::int64_t images, double cycles, int threads)
      : images_(images), groups_((images + kGroup - 1) / kGroup) {
    const auto most = threads > 1 ? 2 * threads : 1;
    count_ = worthwhile_shards(cycles, std::min<std::int64_t>(groups_, most));
  }
  int count() const { return count_; }
  std::int64_t begin(int i) const { return std::min(groups_ * i / count_ * kGroup, images_); }
  std::int64_t size(int i) const { return begin(i + 1) - begin(i); }

 private:
  static constexpr std::int64_t kGroup = 16;
  std::int64_t images_;
  std::int64_t groups_;
  int count_;
};

/// What both kernels have: sizes, shards, and memory for each of them.
class SmallConvolution : public Kernel {
 protected:
  SmallConvolution(const KernelInit& init, const simd::SmallConvShape& sizes,
                   double cycles_per_place)
      : sizes_(sizes),
        image_(sizes.height * sizes.width),
        pooled_(sizes.pooled_height() * sizes.pooled_width() * sizes.channels),
        weights_(sizes.kernel_height * sizes.kernel_width * sizes.channels),
        batch_(init.inputs[0].shape[0]),
        shards_(batch_, cost_of(cycles_per_place), init.threads),
        stride_((static_cast<std::int64_t>(simd::small_conv_scratch(sizes)) + 63) / 64 * 64),
        scratch_(DType::uint8, {shards_.count() * stride_}) {
    cost = cost_of(cycles_per_place);
  }

  std::byte* scratch(int shard) { return scratch_.mutable_data() + shard * stride_; }

  const simd::SmallConvShape sizes_;
  const std::int64_t image_;    ///< values of one
  const std::int64_t pooled_;   ///< values of one image
  const std::int64_t weights_;  ///< values
  const std::int64_t batch_;
  const Shards shards_;

 private:
  double cost_of(double cycles_per_place) const {
    return cycles_per_place * static_cast<double>(batch_ * pooled_) *
           static_cast<double>(sizes_.kernel_height * sizes_.kernel_width);
  }

  const std::int64_t stride_;
  Tensor scratch_;
};

class PooledForward final : public SmallConvolution {
 public:
  PooledForward(const KernelInit& init, const simd::SmallConvShape& sizes)
      : SmallConvolution(init, sizes, 4.0 / 16) {}

  void run(const Run& run) override {
    run.intra.run(shards_.count(), [&](int i) {
      const auto first = shards_.begin(i);
      simd::small_conv_forward(sizes_, shards_.size(i), run.in<float>(0) + first * image_,
                               run.in<float>(1), run.in<float>(2),
                               run.out<float>(0) + first * pooled_,
                               run.out<std::uint8_t>(1) + first * pooled_, scratch(i));
    });
  }
};

/// The sums of the shards are added in their order: the same number of threads
/// gives the same bits.
class WeightsGradient final : public SmallConvolution {
 public:
  WeightsGradient(const KernelInit& init, const simd::SmallConvShape& sizes)
      : SmallConvolution(init, sizes, 1.0 / 8),
        sums_((weights_ + sizes.channels) * shards_.count()) {}

  void run(const Run& run) override {
    run.intra.run(shards_.count(), [&](int i) {
      const auto first = shards_.begin(i);
      simd::small_conv_backward(sizes_, shards_.size(i), run.in<float>(0) + first * image_,
                                run.in<float>(2) + first * pooled_,
                                run.in<std::uint8_t>(1) + first * pooled_, sums(i),
                                sums(i) + weights_, scratch(i));
    });
    add_up(run.out<float>(0), 0, weights_);
    add_up(run.out<float>(1), weights_, sizes_.channels);
  }

 private:
  float* sums(int shard) { return sums_.data() + shard * (weights_ + sizes_.channels); }

  void add_up(float* out, std::int64_t offset, std::int64_t count) {
    std::copy_n(sums(0) + offset, count, out);
    for (int i = 1; i < shards_.count(); ++i)
      for (std::int64_t k = 0; k < count; ++k) out[k] += sums(i)[offset + k];
  }

  std::vector<float> sums_;
};

KernelPtr forward_cpu(const KernelInit& init) {
  return std::make_unique<PooledForward>(
      init, forward_sizes(init.attributes(), init.inputs[0].shape, init.inputs[1].shape));
}

KernelPtr backward_cpu(const KernelInit& init) {
  return std::make_unique<WeightsGradient>(
      init, backward_sizes(init.attributes(), init.inputs[0].shape, init.inputs[1].shape));
}

const OpDef forward_op{.name = "fused_conv_bias_relu_pool",
                       .min_inputs = 3,
                       .max_inputs = 3,
                       .infer = forward_shape,
                       .cpu = forward_cpu};
const OpDef backward_op{.name = "fused_conv_bias_relu_pool_grad",
                        .min_inputs = 3,
                        .max_inputs = 3,
                        .infer = backward_shape,
                        .cpu = backward_cpu};

}  // namespace

OpFamily small_convolution_ops() { return {&forward_op, &backward_op}; }

}  // namespace troupe
