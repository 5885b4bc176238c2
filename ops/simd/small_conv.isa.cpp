#include "troupe/ops/simd/small_conv.h"

#include "troupe/ops/simd/vectors.h"

// Forward: sixteen images at a time are transposed, so that a pixel of all of
// them fills registers, and every product of a weight is one instruction for as
// many images. The four places of a pool window (or, with sixteen registers, two
// of them) times the channels are summed in registers; the maximum, the ReLU and
// the winner follow at once, and only pooled values go back to memory.
//
// Backward: of four places only the winner has a gradient, and none where the
// ReLU cut. For each channel the places that have one are listed; then the window
// of the image at each of them, times its gradient, is added to the gradient of
// the kernel, which stays in registers.

namespace troupe::simd::TROUPE_ISA {
namespace {

using Floats = VectorOf<float, kRegister>::type;
using Ints = VectorOf<std::int32_t, kRegister>::type;
constexpr int kLanes = kRegister / sizeof(float);
constexpr int kGroup = 16;  // images that are transposed together

// Rows of places whose sums are kept in registers at the same time.
constexpr int kRowsAtOnce = kRegister == 64 ? 2 : 1;

Floats load(const float* from) { return Lanes<Floats>::load(from); }

// ---- transposing

#if defined(__AVX512F__)
constexpr int kTile = 16;  // one instruction interleaves across a whole register
#else
constexpr int kTile = 4;
#endif
using Tile = VectorOf<float, kTile * sizeof(float)>::type;
using Bytes = VectorOf<std::uint8_t, 16>::type;

template <class V>
V interleave_low(V a, V b) {
  if constexpr (sizeof(a) / sizeof(a[0]) == 16)
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  else
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
template <class V>
V interleave_high(V a, V b) {
  if constexpr (sizeof(a) / sizeof(a[0]) == 16)
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  else
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

/// Transposes a square of values: each round interleaves row i with row i + half.
template <int kSize, class V>
void transpose(V (&rows)[kSize]) {
  for (int round = 1; round < kSize; round *= 2) {
    V next[kSize];
    for (int i = 0; i < kSize / 2; ++i) {
      next[2 * i] = interleave_low(rows[i], rows[i + kSize / 2]);
      next[2 * i + 1] = interleave_high(rows[i], rows[i + kSize / 2]);
    }
    for (int i = 0; i < kSize; ++i) rows[i] = next[i];
  }
}

/// to[j][i] = images[i][j] for kGroup images; the last one stands for those that are missing.
void gather(const float* images, std::int64_t count, std::int64_t pixels, float* to) {
  const float* image[kGroup];
  for (int i = 0; i < kGroup; ++i) image[i] = images + (i < count ? i : count - 1) * pixels;
  std::int64_t j = 0;
  for (; j + kTile <= pixels; j += kTile) {
    for (int first = 0; first < kGroup; first += kTile) {
      Tile rows[kTile];
      for (int i = 0; i < kTile; ++i) rows[i] = Lanes<Tile>::load(image[first + i] + j);
      transpose(rows);
      for (int k = 0; k < kTile; ++k) Lanes<Tile>::store(to + (j + k) * kGroup + first, rows[k]);
    }
  }
  for (; j < pixels; ++j)
    for (int i = 0; i < kGroup; ++i) to[j * kGroup + i] = image[i][j];
}

/// to[i][j] = from[j][i] for `count` of kGroup images with `size` values each.
template <class V, int kSize, class T>
void scatter(const T* from, std::int64_t count, std::int64_t size, T* to) {
  std::int64_t j = 0;
  for (; j + kSize <= size; j += kSize) {
    for (std::int64_t first = 0; first < count; first += kSize) {
      V rows[kSize];
      for (int k = 0; k < kSize; ++k) rows[k] = Lanes<V>::load(from + (j + k) * kGroup + first);
      transpose(rows);
      for (int i = 0; i < kSize && first + i < count; ++i)
        Lanes<V>::store(to + (first + i) * size + j, rows[i]);
    }
  }
  for (; j < size; ++j)
    for (std::int64_t i = 0; i < count; ++i) to[i * size + j] = from[j * kGroup + i];
}

// ---- forward

/// The memory of one group: a value of each of its images stands side by side.
struct Group {
  float* pixels;          // [height * width][kGroup]
  float* pooled;          // [pooled values][kGroup]
  std::uint8_t* winners;  // the same
};

/// The largest of the places of a window so far, and which it was.
struct Best {
  Floats value = Floats{} - __builtin_inff();
  Ints place = Ints{};

  void consider(Floats other, int other_place) {
    const Ints wins = (other > value) | (other != other);
    value = wins ? other : value;
    place = wins ? Ints{} + other_place : place;
  }
  void relu() {
    const Ints cut = value <= 0;
    value = cut ? Floats{} : value;
    place = cut ? Ints{} + kCut : place;
  }
};

/// Two places beside each other in each of some rows, from row `upper` of the window on.
template <int kChannels>
inline void consider_places(const SmallConvShape& shape, int upper, const float* corner,
                            const float* weights, const float* bias, Best (&best)[kChannels]) {
  Floats sums[kRowsAtOnce][2][kChannels];
  for (auto& row : sums)
    for (auto& place : row)
      for (int c = 0; c < kChannels; ++c) place[c] = Floats{} + bias[c];

  for (std::int64_t y = 0; y < shape.kernel_height; ++y) {
    const float* pixel = corner + (upper + y) * shape.width * kGroup;
    for (std::int64_t x = 0; x < shape.kernel_width; ++x) {
      Floats values[kRowsAtOnce][2];
      for (int row = 0; row < kRowsAtOnce; ++row)
        for (int column = 0; column < 2; ++column)
          values[row][column] =
              load(pixel + (row * shape.width + column * shape.stride_width) * kGroup);
      for (int c = 0; c < kChannels; ++c)
        for (int row = 0; row < kRowsAtOnce; ++row)
          for (int column = 0; column < 2; ++column)
            sums[row][column][c] += values[row][column] * weights[c];
      pixel += kGroup;
      weights += kChannels;
    }
  }

  for (int row = 0; row < kRowsAtOnce; ++row)
    for (int column = 0; column < 2; ++column)
      for (int c = 0; c < kChannels; ++c)
        best[c].consider(sums[row][column][c], 2 * (upper + row) + column);
}

template <int kChannels>
void pool_window(const SmallConvShape& shape, const float* corner, const float* weights,
                 const float* bias, float* pooled, std::uint8_t* winners) {
  Best best[kChannels];
  consider_places(shape, 0, corner, weights, bias, best);
  if (kRowsAtOnce == 1) consider_places(shape, 1, corner, weights, bias, best);

  using Narrow = VectorOf<std::uint8_t, kLanes>::type;
  for (int c = 0; c < kChannels; ++c) {
    best[c].relu();
    Lanes<Floats>::store(pooled + c * kGroup, best[c].value);
    Lanes<Narrow>::store(winners + c * kGroup, __builtin_convertvector(best[c].place, Narrow));
  }
}

template <int kChannels>
void convolve(const SmallConvShape& shape, const float* weights, const float* bias,
              const Group& group) {
  const auto height = shape.pooled_height();
  const auto width = shape.pooled_width();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const auto corner = (2 * y * shape.width + 2 * x * shape.stride_width) * kGroup;
      const auto at = (y * width + x) * kChannels * kGroup;
      for (int first = 0; first < kGroup; first += kLanes)
        pool_window<kChannels>(shape, group.pixels + corner + first, weights, bias,
                               group.pooled + at + first, group.winners + at + first);
    }
  }
}

constexpr decltype(&convolve<1>) kConvolve[] = {convolve<1>, convolve<2>, convolve<3>,
                                                convolve<4>, convolve<5>, convolve<6>};

// ---- backward

/// A place of the convolution that has a gradient: where its window begins in the image.
struct Place {
  std::int32_t at;
  float gradient;
};

constexpr int kMaxRows = 3;     // of a kernel's gradient that are held in registers,
constexpr int kMaxVectors = 4;  // and how many vectors of each

/// sums[row][i] += gradient * image[at + row * width + i], over all places.
template <int kRows, int kVectors>
void add_windows(const Place* places, std::int64_t count, const float* image, std::int64_t width,
                 float* sums, std::int64_t sums_width) {
  Floats sum[kRows][kVectors];
  for (int row = 0; row < kRows; ++row)
    for (int v = 0; v < kVectors; ++v) sum[row][v] = load(sums + row * sums_width + v * kLanes);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* window = image + places[i].at;
    for (int row = 0; row < kRows; ++row)
      for (int v = 0; v < kVectors; ++v)
        sum[row][v] += load(window + row * width + v * kLanes) * places[i].gradient;
  }
  for (int row = 0; row < kRows; ++row)
    for (int v = 0; v < kVectors; ++v)
      Lanes<Floats>::store(sums + row * sums_width + v * kLanes, sum[row][v]);
}

using AddWindows = void (*)(const Place*, std::int64_t, const float*, std::int64_t, float*,
                            std::int64_t);
constexpr AddWindows kAddWindows[kMaxRows][kMaxVectors] = {
    {add_windows<1, 1>, add_windows<1, 2>, add_windows<1, 3>, add_windows<1, 4>},
    {add_windows<2, 1>, add_windows<2, 2>, add_windows<2, 3>, add_windows<2, 4>},
    {add_windows<3, 1>, add_windows<3, 2>, add_windows<3, 3>, add_windows<3, 4>}};

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// The gradient of the kernel of one channel: rows of whole vectors.
struct KernelSums {
  explicit KernelSums(const SmallConvShape& shape)
      : rows(shape.kernel_height), vectors((shape.kernel_width + kLanes - 1) / kLanes) {}
  std::int64_t width() const { return vectors * kLanes; }
  std::int64_t size() const { return rows * width(); }

  void add(const Place* places, std::int64_t count, const float* image, std::int64_t image_width,
           float* sums) const {
    for (std::int64_t row = 0; row < rows; row += kMaxRows) {
      for (std::int64_t v = 0; v < vectors; v += kMaxVectors) {
        const auto add_some =
            kAddWindows[smaller(kMaxRows, rows - row) - 1][smaller(kMaxVectors, vectors - v) - 1];
        add_some(places, count, image + row * image_width + v * kLanes, image_width,
                 sums + row * width() + v * kLanes, width());
      }
    }
  }

  std::int64_t rows;
  std::int64_t vectors;
};

/// Lists the places of one image that have a gradient, by channel, and adds up the gradients.
template <int kChannels>
void list_places(const SmallConvShape& shape, const float* gradients, const std::uint8_t* winners,
                 Place* places, std::int64_t* counts, float* bias_gradient) {
  const auto height = shape.pooled_height();
  const auto width = shape.pooled_width();
  const std::int64_t steps[4] = {0, shape.stride_width, shape.width,
                                 shape.width + shape.stride_width};
  std::int64_t count[kChannels] = {};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const auto corner = 2 * y * shape.width + 2 * x * shape.stride_width;
      for (int c = 0; c < kChannels; ++c) {  // written in any case, kept only if it counts
        const bool counts_too = winners[c] < kCut;
        places[c * height * width + count[c]] = {
            static_cast<std::int32_t>(corner + steps[winners[c] & 3]), gradients[c]};
        count[c] += counts_too;
        bias_gradient[c] += counts_too ? gradients[c] : 0;
      }
      gradients += kChannels;
      winners += kChannels;
    }
  }
  for (int c = 0; c < kChannels; ++c) counts[c] = count[c];
}

constexpr decltype(&list_places<1>) kListPlaces[] = {
    list_places<1>, list_places<2>, list_places<3>, list_places<4>, list_places<5>, list_places<6>};

// ---- memory

/// Hands out parts of the scratch, or only counts them.
class Scratch {
 public:
  explicit Scratch(std::byte* memory) : memory_(memory) {}

  template <class T>
  T* take(std::int64_t count) {
    auto* part = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return part;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

Group take_group(const SmallConvShape& shape, Scratch& scratch) {
  const auto size = shape.pooled_height() * shape.pooled_width() * shape.channels;
  Group group;
  group.pixels = scratch.take<float>(shape.height * shape.width * kGroup);
  group.pooled = scratch.take<float>(size * kGroup);
  group.winners = scratch.take<std::uint8_t>(size * kGroup);
  return group;
}

struct BackwardMemory {
  Place* places;  // [channels][pooled places]
  float* sums;    // [channels][kernel sums]
  float* copy;    // of an image, with room behind it: windows are read in whole vectors
};

BackwardMemory take_backward(const SmallConvShape& shape, Scratch& scratch) {
  BackwardMemory memory;
  memory.places =
      scratch.take<Place>(shape.channels * shape.pooled_height() * shape.pooled_width());
  memory.sums = scratch.take<float>(shape.channels * KernelSums(shape).size());
  memory.copy = scratch.take<float>(shape.height * shape.width + kLanes);
  return memory;
}

}  // namespace

std::size_t small_conv_scratch(const SmallConvShape& shape) {
  Scratch forward(nullptr);
  Scratch backward(nullptr);
  take_group(shape, forward);
  take_backward(shape, backward);
  return forward.used() > backward.used() ? forward.used() : backward.used();
}

void small_conv_forward(const SmallConvShape& shape, std::int64_t n, const float* images,
                        const float* weights, const float* bias, float* pooled,
                        std::uint8_t* winners, std::byte* memory) {
  Scratch scratch(memory);
  const auto group = take_group(shape, scratch);
  const auto pixels = shape.height * shape.width;
  const auto size = shape.pooled_height() * shape.pooled_width() * shape.channels;
  for (std::int64_t i = 0; i < n; i += kGroup) {
    const auto count = smaller(kGroup, n - i);
    gather(images + i * pixels, count, pixels, group.pixels);
    kConvolve[shape.channels - 1](shape, weights, bias, group);
    scatter<Tile, kTile>(group.pooled, count, size, pooled + i * size);
    scatter<Bytes, 16>(group.winners, count, size, winners + i * size);
  }
}

void small_conv_backward(const SmallConvShape& shape, std::int64_t n, const float* images,
                         const float* pooled_gradient, const std::uint8_t* winners,
                         float* weights_gradient, float* bias_gradient, std::byte* memory) {
  Scratch scratch(memory);
  const auto [places, sums, copy] = take_backward(shape, scratch);
  const auto pixels = shape.height * shape.width;
  const auto pooled = shape.pooled_height() * shape.pooled_width();
  const auto channels = shape.channels;
  const KernelSums kernel(shape);
  for (std::int64_t i = 0; i < channels * kernel.size(); ++i) sums[i] = 0;
  for (std::int64_t c = 0; c < channels; ++c) bias_gradient[c] = 0;

  for (std::int64_t i = 0; i < n; ++i) {
    const float* image = images + i * pixels;
    if ((n - 1 - i) * pixels < kLanes) {  // nothing of the caller's to read behind it
      __builtin_memcpy(copy, image, static_cast<std::size_t>(pixels) * sizeof(float));
      for (int k = 0; k < kLanes; ++k) copy[pixels + k] = 0;
      image = copy;
    }
    // The windows come in no order that a processor could foresee.
    for (std::int64_t k = 0; k < pixels; k += 16) __builtin_prefetch(image + k);
    std::int64_t counts[SmallConvShape::kMaxChannels];
    kListPlaces[channels - 1](shape, pooled_gradient + i * pooled * channels,
                              winners + i * pooled * channels, places, counts, bias_gradient);
    for (std::int64_t c = 0; c < channels; ++c)
      kernel.add(places + c * pooled, counts[c], image, shape.width, sums + c * kernel.size());
  }

  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = 0; y < shape.kernel_height; ++y)
      for (std::int64_t x = 0; x < shape.kernel_width; ++x)
        weights_gradient[(y * shape.kernel_width + x) * channels + c] =
            sums[c * kernel.size() + y * kernel.width() + x];
}

}  // namespace troupe::simd::TROUPE_ISA
