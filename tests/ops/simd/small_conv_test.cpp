#include "troupe/ops/simd/small_conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/isa_levels.h"

namespace troupe::simd {
namespace {

using test::isa_levels;
using test::isa_name;
using testing::Contains;
using testing::Each;
using testing::IsNan;

struct Pooled {
  std::vector<float> values;
  std::vector<std::uint8_t> winners;
};

struct Gradients {
  std::vector<float> weights, bias;
};

/// Random small integers: all sums are exact in float, and equal places are frequent.
std::vector<float> integers(std::int64_t count, int most, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> value(-most, most);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (auto& v : values) v = static_cast<float>(value(random));
  return values;
}

/// One problem, and its solution by the definition.
struct Problem {
  Problem(SmallConvShape s, std::int64_t images_, unsigned seed = 1)
      : shape(s),
        n(images_),
        images(integers(n * s.height * s.width, 4, seed)),
        weights(integers(s.kernel_height * s.kernel_width * s.channels, 3, seed + 1)),
        bias(integers(s.channels, 9, seed + 2)),
        pooled_gradient(integers(pooled_size(), 5, seed + 3)) {}

  std::int64_t pooled_size() const {
    return n * shape.pooled_height() * shape.pooled_width() * shape.channels;
  }
  float pixel(std::int64_t i, std::int64_t y, std::int64_t x) const {
    return images.at(static_cast<std::size_t>((i * shape.height + y) * shape.width + x));
  }

  /// Calls fn(image, pooled row, pooled column, channel) in the order of the outputs.
  template <class Fn>
  void each_output(Fn fn) const {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t y = 0; y < shape.pooled_height(); ++y)
        for (std::int64_t x = 0; x < shape.pooled_width(); ++x)
          for (std::int64_t c = 0; c < shape.channels; ++c) fn(i, y, x, c);
  }
  /// Calls fn(index of the weight, pixel) for what stands under the kernel.
  template <class Fn>
  void each_weight(std::int64_t i, std::int64_t row, std::int64_t column, std::int64_t c,
                   Fn fn) const {
    for (std::int64_t y = 0; y < shape.kernel_height; ++y)
      for (std::int64_t x = 0; x < shape.kernel_width; ++x)
        fn(static_cast<std::size_t>((y * shape.kernel_width + x) * shape.channels + c),
           pixel(i, row + y, column * shape.stride_width + x));
  }

  Pooled forward() const {
    Pooled pooled;
    each_output([&](auto i, auto y, auto x, auto c) {
      double best = 0;
      int winner = kCut;
      for (int place = 0; place < 4; ++place) {
        double sum = bias[static_cast<std::size_t>(c)];
        each_weight(i, 2 * y + place / 2, 2 * x + place % 2, c,
                    [&](auto w, float value) { sum += weights[w] * double{value}; });
        if (sum > best) {
          best = sum;
          winner = place;
        }
      }
      pooled.values.push_back(static_cast<float>(best));
      pooled.winners.push_back(static_cast<std::uint8_t>(winner));
    });
    return pooled;
  }

  Gradients backward(const std::vector<std::uint8_t>& winners) const {
    std::vector<double> dw(weights.size());
    std::vector<double> db(bias.size());
    std::size_t at = 0;
    each_output([&](auto i, auto y, auto x, auto c) {
      const double gradient = pooled_gradient[at];
      const int place = winners[at++];
      if (place == kCut) return;
      db[static_cast<std::size_t>(c)] += gradient;
      each_weight(i, 2 * y + place / 2, 2 * x + place % 2, c,
                  [&](auto w, float value) { dw[w] += gradient * value; });
    });
    return {{dw.begin(), dw.end()}, {db.begin(), db.end()}};
  }

  SmallConvShape shape;
  std::int64_t n;
  std::vector<float> images, weights, bias, pooled_gradient;
};

class SmallConv : public testing::TestWithParam<Isa> {
 protected:
  /// Vectors of exactly the promised sizes, so that the address sanitizer sees any access beyond.
  std::vector<std::byte> scratch(const SmallConvShape& shape) const {
    return std::vector<std::byte>(pick(v2::small_conv_scratch, v3::small_conv_scratch,
                                       v4::small_conv_scratch, GetParam())(shape));
  }
  Pooled forward(const Problem& p) const {
    Pooled pooled{std::vector<float>(static_cast<std::size_t>(p.pooled_size()), -1),
                  std::vector<std::uint8_t>(static_cast<std::size_t>(p.pooled_size()), 77)};
    auto memory = scratch(p.shape);
    pick(v2::small_conv_forward, v3::small_conv_forward, v4::small_conv_forward, GetParam())(
        p.shape, p.n, p.images.data(), p.weights.data(), p.bias.data(), pooled.values.data(),
        pooled.winners.data(), memory.data());
    return pooled;
  }
  Gradients backward(const Problem& p, const std::vector<std::uint8_t>& winners) const {
    constexpr float kUntouched = 1234567;
    Gradients gradients{std::vector<float>(p.weights.size(), kUntouched),
                        std::vector<float>(p.bias.size(), kUntouched)};
    auto memory = scratch(p.shape);
    pick(v2::small_conv_backward, v3::small_conv_backward, v4::small_conv_backward, GetParam())(
        p.shape, p.n, p.images.data(), p.pooled_gradient.data(), winners.data(),
        gradients.weights.data(), gradients.bias.data(), memory.data());
    return gradients;
  }
  void check(const SmallConvShape& shape, std::int64_t n) const {
    SCOPED_TRACE(testing::Message()
                 << n << " images " << shape.height << "x" << shape.width << ", kernel "
                 << shape.kernel_height << "x" << shape.kernel_width << ", stride "
                 << shape.stride_width << ", channels " << shape.channels);
    ASSERT_TRUE(small_conv_supported(shape));
    const Problem problem(shape, n);
    const auto want = problem.forward();
    const auto got = forward(problem);
    ASSERT_EQ(got.values, want.values);
    ASSERT_EQ(got.winners, want.winners);
    const auto want_gradients = problem.backward(want.winners);
    const auto gradients = backward(problem, want.winners);
    ASSERT_EQ(gradients.weights, want_gradients.weights);
    ASSERT_EQ(gradients.bias, want_gradients.bias);
  }
};

INSTANTIATE_TEST_SUITE_P(Isa, SmallConv, testing::ValuesIn(isa_levels()), isa_name);

SmallConvShape headline(std::int64_t channels = 5) { return {20, 195, 3, 30, 5, channels}; }

TEST_P(SmallConv, HasTheValuesWinnersAndGradientsOfTheDefinition) {
  for (std::int64_t channels = 1; channels <= SmallConvShape::kMaxChannels; ++channels)
    check(headline(channels), 19);
}

TEST_P(SmallConv, TakesAnyNumberOfImages) {
  for (std::int64_t n = 1; n <= 35; ++n) check({9, 11, 3, 4, 2, 5}, n);
}

TEST_P(SmallConv, TakesAnyShape) {
  for (const SmallConvShape& shape : {
           SmallConvShape{2, 2, 1, 1, 1, 1},    // one window
           SmallConvShape{5, 7, 2, 3, 1, 3},    // odd and even numbers of places
           SmallConvShape{6, 6, 2, 2, 1, 4},    //
           SmallConvShape{28, 28, 5, 5, 1, 6},  // the digits of LeNet-5
           SmallConvShape{7, 50, 7 - 1, 9, 4, 2},
           SmallConvShape{13, 40, 8, 33, 3, 5},   // a kernel of several vectors, and rows
           SmallConvShape{4, 300, 2, 130, 9, 6},  // ... wider than the registers
           SmallConvShape{3, 90, 1, 2, 31, 5},    // a stride wider than the kernel
           SmallConvShape{2, 33, 1, 32, 1, 5},    //
       })
    check(shape, 5);
}

TEST_P(SmallConv, TakesEveryKernelInASmallImage) {
  for (std::int64_t height = 1; height <= 5; ++height)
    for (std::int64_t width = 1; width <= 18; ++width)
      for (std::int64_t stride = 1; stride <= 3; ++stride)
        check({height + 3, width + 4, height, width, stride, 3}, 2);
}

TEST_P(SmallConv, LetsTheFirstOfEqualPlacesWin) {
  Problem p(headline(), 16);
  p.weights.assign(p.weights.size(), 0);
  p.bias.assign(p.bias.size(), 3);
  const auto got = forward(p);
  EXPECT_THAT(got.values, Each(3));
  EXPECT_THAT(got.winners, Each(0));
}

TEST_P(SmallConv, HasNoGradientWhereTheReluCuts) {
  Problem p(headline(), 16);
  p.weights.assign(p.weights.size(), 0);
  for (const float bias : {-3.f, 0.f, -0.f}) {
    p.bias.assign(p.bias.size(), bias);
    const auto got = forward(p);
    EXPECT_THAT(got.values, Each(0));
    EXPECT_FALSE(std::signbit(got.values[0]));
    EXPECT_THAT(got.winners, Each(kCut));
    EXPECT_THAT(backward(p, got.winners).weights, Each(0));
    EXPECT_THAT(backward(p, got.winners).bias, Each(0));
  }
}

TEST_P(SmallConv, KeepsANanVisible) {
  Problem p(headline(), 3);
  p.images[20 * 195 + 4 * 195 + 77] = std::numeric_limits<float>::quiet_NaN();
  const auto want = Problem(headline(), 3).forward();
  const auto got = forward(p);
  const auto per_image = got.values.size() / 3;
  int nans = 0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const bool is_nan = std::isnan(got.values[i]);
    nans += is_nan;
    if (is_nan) {
      EXPECT_LT(got.winners[i], kCut);
      EXPECT_EQ(i / per_image, 1u);
    } else {
      EXPECT_EQ(got.values[i], want.values[i]);
    }
  }
  EXPECT_GT(nans, 0);
  EXPECT_THAT(backward(p, got.winners).weights, Contains(IsNan()));
}

TEST_P(SmallConv, GivesAnImageTheSameBitsWhereverItStands) {
  Problem all(headline(), 37);
  std::mt19937 random(4);
  for (auto* values : {&all.images, &all.weights, &all.bias})
    for (auto& v : *values) v = std::normal_distribution<float>()(random);
  const auto want = forward(all);
  for (std::size_t first = 0; first < 37; first += 5) {
    Problem part = all;
    part.n = std::min<std::int64_t>(5, 37 - static_cast<std::int64_t>(first));
    part.images.assign(
        all.images.begin() + static_cast<std::ptrdiff_t>(first * 20 * 195),
        all.images.begin() +
            static_cast<std::ptrdiff_t>((first + static_cast<std::size_t>(part.n)) * 20 * 195));
    const auto got = forward(part);
    const auto size = got.values.size() / static_cast<std::size_t>(part.n);
    for (std::size_t i = 0; i < got.values.size(); ++i) {
      ASSERT_EQ(got.values[i], want.values[first * size + i]);
      ASSERT_EQ(got.winners[i], want.winners[first * size + i]);
    }
  }
}

TEST_P(SmallConv, HasZeroGradientsWithoutImages) {
  const Problem p(headline(), 0);
  EXPECT_THAT(backward(p, {}).weights, Each(0));
  EXPECT_THAT(backward(p, {}).bias, Each(0));
}

TEST(SmallConvShape, IsSupportedWhenAPoolWindowFits) {
  EXPECT_TRUE(small_conv_supported(headline()));
  EXPECT_EQ(headline().pooled_height(), 9);
  EXPECT_EQ(headline().pooled_width(), 17);
  EXPECT_FALSE(small_conv_supported({}));
  EXPECT_FALSE(small_conv_supported(headline(0)));
  EXPECT_FALSE(small_conv_supported(headline(7)));
  EXPECT_FALSE(small_conv_supported({3, 195, 3, 30, 5, 5}));    // one row of places
  EXPECT_FALSE(small_conv_supported({20, 34, 3, 30, 5, 5}));    // one column of places
  EXPECT_FALSE(small_conv_supported({20, 195, 21, 30, 5, 5}));  // the kernel is higher
  EXPECT_FALSE(small_conv_supported({20, 195, 3, 196, 5, 5}));  // or wider than the image
  EXPECT_FALSE(small_conv_supported({20, 195, 3, 30, 0, 5}));
  EXPECT_FALSE(small_conv_supported({-20, -195, 3, 30, 5, 5}));
  EXPECT_FALSE(small_conv_supported({1000, 1000, 3, 3, 1, 5}));
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(small_conv_supported({kHuge, kHuge, kHuge, kHuge, kHuge, kHuge}));
}

}  // namespace
}  // namespace troupe::simd
