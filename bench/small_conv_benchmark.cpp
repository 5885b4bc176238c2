// The fused first layer of a small network: convolution, bias, ReLU and max-pool
// forward, and the gradients of its weights backward, for 1,000 images.
//
//   build/bench/bench/small_conv_benchmark
//
// `headline` is 20x195 pixels, kernel 3x30, stride (1, 5), 5 channels; `digits` is
// 28x28 pixels, kernel 5x5, 6 channels. GFLOP/s counts the products and sums of
// the whole convolution, also backward, where most of them are left out. With two
// threads each has half of the images.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "troupe/ops/memory.h"
#include "troupe/ops/simd/small_conv.h"

namespace troupe {
namespace {

using simd::SmallConvShape;

constexpr std::int64_t kImages = 1000;

/// Floats in memory as tensors have it.
struct Values {
  explicit Values(std::int64_t count, float deviation = 0)
      : buffer(Buffer::allocate(static_cast<std::size_t>(count) * sizeof(float))) {
    std::mt19937 random(20261129);
    std::normal_distribution<float> draw;
    for (std::int64_t i = 0; i < count; ++i) data()[i] = deviation * draw(random);
  }
  float* data() const { return reinterpret_cast<float*>(buffer->data()); }

  BufferRef buffer;
};

struct Layer {
  explicit Layer(const SmallConvShape& s)
      : shape(s),
        pixels(s.height * s.width),
        weights_count(s.kernel_height * s.kernel_width * s.channels),
        pooled_size(s.pooled_height() * s.pooled_width() * s.channels),
        images(kImages * pixels, 1),
        weights(weights_count, 0.15f),
        bias(s.channels, 0.01f),
        pooled(kImages * pooled_size),
        pooled_gradient(kImages * pooled_size, 1),
        winners(static_cast<std::size_t>(kImages * pooled_size)) {}

  double flop() const {
    return 2.0 * 4 * static_cast<double>(pooled_size * shape.kernel_height * shape.kernel_width);
  }

  SmallConvShape shape;
  std::int64_t pixels, weights_count, pooled_size;
  Values images, weights, bias, pooled, pooled_gradient;
  std::vector<std::uint8_t> winners;
};

/// Runs `pass` on this thread's part of the images, again and again.
template <class Pass>
void run(benchmark::State& state, const Layer& layer, simd::Isa level, Pass pass) {
  const auto first = kImages * state.thread_index() / state.threads();
  const auto count = kImages * (state.thread_index() + 1) / state.threads() - first;
  const auto bytes = simd::pick(simd::v2::small_conv_scratch, simd::v3::small_conv_scratch,
                                simd::v4::small_conv_scratch, level)(layer.shape);
  const BufferRef scratch(Buffer::allocate(bytes));
  for (auto _ : state) {
    pass(first, count, scratch->data());
    benchmark::ClobberMemory();
  }
  const auto images = static_cast<double>(count * state.iterations());
  state.counters["GFLOP/s"] =
      benchmark::Counter(layer.flop() * images / 1e9, benchmark::Counter::kIsRate);
}

void forward(benchmark::State& state, Layer& layer, simd::Isa level) {
  const auto kernel = simd::pick(simd::v2::small_conv_forward, simd::v3::small_conv_forward,
                                 simd::v4::small_conv_forward, level);
  run(state, layer, level, [&](std::int64_t first, std::int64_t count, std::byte* scratch) {
    kernel(layer.shape, count, layer.images.data() + first * layer.pixels, layer.weights.data(),
           layer.bias.data(), layer.pooled.data() + first * layer.pooled_size,
           layer.winners.data() + first * layer.pooled_size, scratch);
  });
}

void backward(benchmark::State& state, Layer& layer, simd::Isa level) {
  const auto kernel = simd::pick(simd::v2::small_conv_backward, simd::v3::small_conv_backward,
                                 simd::v4::small_conv_backward, level);
  const Values weights(layer.weights_count);
  const Values bias(layer.shape.channels);
  run(state, layer, level, [&](std::int64_t first, std::int64_t count, std::byte* scratch) {
    kernel(layer.shape, count, layer.images.data() + first * layer.pixels,
           layer.pooled_gradient.data() + first * layer.pooled_size,
           layer.winners.data() + first * layer.pooled_size, weights.data(), bias.data(), scratch);
  });
}

void add(const std::string& name, Layer& layer) {
  const BufferRef scratch(Buffer::allocate(simd::small_conv_scratch(layer.shape)));
  simd::small_conv_forward(layer.shape, kImages, layer.images.data(), layer.weights.data(),
                           layer.bias.data(), layer.pooled.data(), layer.winners.data(),
                           scratch->data());
  const auto add_one = [&](const char* pass, auto fn, simd::Isa level) {
    benchmark::RegisterBenchmark((name + pass + simd::to_string(level)).c_str(), fn,
                                 std::ref(layer), level)
        ->Threads(1)
        ->Threads(2)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (const auto level : {simd::Isa::v2, simd::Isa::v3, simd::Isa::v4}) {
    if (level > simd::best_isa()) continue;
    add_one("/forward/", forward, level);
    add_one("/backward/", backward, level);
  }
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  using namespace troupe;
  Layer headline({20, 195, 3, 30, 5, 5});
  Layer digits({28, 28, 5, 5, 1, 6});
  add("headline", headline);
  add("digits", digits);

  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
