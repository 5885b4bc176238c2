#include "troupe/ops/simd/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "support/isa_levels.h"
#include "troupe/ops/random.h"

namespace troupe::simd {
namespace {

using Values = std::vector<float>;

Values random_values(std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed);
  Values values(static_cast<std::size_t>(count));
  for (auto& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// A convolution of `images` images, with what it reads and the plain sums that it stands for.
struct Case {
  std::int64_t images;
  WinogradSizes sizes;
  Values x, w, dy;

  Case(std::int64_t images, const WinogradSizes& sizes)
      : images(images),
        sizes(sizes),
        x(random_values(images * sizes.rows.input * sizes.columns.input * sizes.in, 1)),
        w(random_values(sizes.window * sizes.window * sizes.in * sizes.out, 2)),
        dy(random_values(images * sizes.rows.output * sizes.columns.output * sizes.out, 3)) {}

  std::int64_t tiles() const { return images * sizes.tiles(); }

  /// Calls fn(input, weight, output) for the indices of every product.
  template <class Fn>
  void each_product(Fn fn) const {
    const auto& [rows, columns, window, in, out] = sizes;
    for (std::int64_t n = 0; n < images; ++n)
      for (std::int64_t i = 0; i < rows.output; ++i)
        for (std::int64_t j = 0; j < columns.output; ++j)
          for (std::int64_t k = 0; k < window; ++k)
            for (std::int64_t l = 0; l < window; ++l) {
              const auto row = i + k - rows.before;
              const auto column = j + l - columns.before;
              if (row < 0 || row >= rows.input || column < 0 || column >= columns.input) continue;
              const auto pixel = ((n * rows.input + row) * columns.input + column) * in;
              const auto place = ((n * rows.output + i) * columns.output + j) * out;
              for (std::int64_t c = 0; c < in; ++c)
                for (std::int64_t o = 0; o < out; ++o)
                  fn(pixel + c, ((k * window + l) * in + c) * out + o, place + o);
            }
  }
  std::vector<double> outputs() const {
    std::vector<double> y(dy.size());
    each_product([&](auto input, auto weight, auto output) {
      y[output] += static_cast<double>(x[input]) * w[weight];
    });
    return y;
  }
  std::vector<double> filter_gradient() const {
    std::vector<double> dw(w.size());
    each_product([&](auto input, auto weight, auto output) {
      dw[weight] += static_cast<double>(x[input]) * dy[output];
    });
    return dw;
  }
};

WinogradSizes sizes(std::int64_t height, std::int64_t width, std::int64_t window, bool same,
                    std::int64_t in, std::int64_t out) {
  const auto axis = [&](std::int64_t extent) {
    return same ? WinogradSizes::Axis{extent, extent, window / 2}
                : WinogradSizes::Axis{extent, extent - window + 1, 0};
  };
  return {axis(height), axis(width), window, in, out};
}

const Case& case_of(int i) {
  static const Case cases[] = {
      {2, sizes(9, 11, 5, true, 16, 32)},   {3, sizes(7, 8, 3, true, 32, 48)},
      {2, sizes(3, 3, 5, true, 16, 80)},    {1, sizes(13, 10, 5, false, 48, 16)},
      {2, sizes(12, 17, 3, false, 16, 16)}, {5, sizes(1, 2, 3, true, 32, 112)},
      {1, sizes(30, 31, 3, true, 32, 16)}};
  return cases[i];
}
constexpr int kCases = 7;

/// The functions of one level.
class Winograd : public testing::TestWithParam<Isa> {
 protected:
  Values points_of(const Case& c) const {
    Values points(static_cast<std::size_t>(c.sizes.points_size()));
    const auto evaluate =
        pick(v2::winograd_filter, v3::winograd_filter, v4::winograd_filter, GetParam());
    const auto half = c.sizes.in / 2;
    evaluate(c.sizes, c.w.data(), points.data(), 0, half);
    evaluate(c.sizes, c.w.data(), points.data(), half, c.sizes.in);
    return points;
  }

  /// The outputs, in two parts of which the first has so many tiles.
  Values convolve(const Case& c, const float* bias = nullptr, bool relu = false,
                  std::int64_t first_part = 0) const {
    const auto points = points_of(c);
    Values y(c.dy.size(), -7.0f), scratch(static_cast<std::size_t>(c.sizes.scratch()), NAN);
    const auto convolve =
        pick(v2::winograd_convolve, v3::winograd_convolve, v4::winograd_convolve, GetParam());
    for (const auto& [first, last] :
         {std::pair{std::int64_t{0}, first_part}, std::pair{first_part, c.tiles()}})
      convolve(c.sizes, c.x.data(), points.data(), bias, relu, y.data(), first, last,
               scratch.data());
    return y;
  }

  Values filter_gradient(const Case& c) const {
    Values points(static_cast<std::size_t>(c.sizes.points_size()));
    Values dw(c.w.size()), scratch(static_cast<std::size_t>(c.sizes.scratch()), NAN);
    pick(v2::winograd_gradient_points, v3::winograd_gradient_points, v4::winograd_gradient_points,
         GetParam())(c.sizes, c.x.data(), c.dy.data(), points.data(), 0, c.tiles(), scratch.data());
    pick(v2::winograd_filter_gradient, v3::winograd_filter_gradient, v4::winograd_filter_gradient,
         GetParam())(c.sizes, points.data(), dw.data(), 0, c.sizes.in);
    return dw;
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, Winograd, testing::ValuesIn(test::isa_levels()), test::isa_name);

/// Products of values of size 1 add up to values of size sqrt(terms): errors are
/// compared with that.
void expect_near(const Values& got, const std::vector<double>& wanted, std::int64_t terms) {
  const auto most = 1e-5 * std::sqrt(static_cast<double>(terms));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], most) << "value " << i;
}

TEST_P(Winograd, ConvolvesLikeTheDefinition) {
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE(i);
    const auto& c = case_of(i);
    expect_near(convolve(c), c.outputs(), c.sizes.window * c.sizes.window * c.sizes.in);
  }
}

TEST_P(Winograd, HasTheFilterGradientOfTheDefinition) {
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE(i);
    const auto& c = case_of(i);
    expect_near(filter_gradient(c), c.filter_gradient(),
                c.images * c.sizes.rows.output * c.sizes.columns.output);
  }
}

TEST_P(Winograd, AddsTheBiasAndCutsBelowZero) {
  const auto& c = case_of(0);
  const auto bias = random_values(c.sizes.out, 4);
  const auto plain = convolve(c);
  const auto sums = convolve(c, bias.data());
  const auto cut = convolve(c, bias.data(), true);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    ASSERT_NEAR(sums[i], plain[i] + bias[i % bias.size()], 1e-5);
    ASSERT_EQ(cut[i], std::max(0.0f, sums[i]));
  }
}

TEST_P(Winograd, GivesATileTheSameBitsWhereverARangeBegins) {
  for (const int i : {1, 6}) {
    const auto& c = case_of(i);
    EXPECT_EQ(convolve(c), convolve(c, nullptr, false, 5));
  }
}

TEST_P(Winograd, ShowsANan) {
  auto c = case_of(0);
  c.x[40] = NAN;
  int visible = 0;
  for (const auto value : convolve(c)) visible += std::isnan(value);
  EXPECT_GT(visible, 0);
}

}  // namespace
}  // namespace troupe::simd
