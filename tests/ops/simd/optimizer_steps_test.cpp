#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "troupe/ops/random.h"
#include "troupe/ops/simd/optimizer.h"

namespace troupe::simd {
namespace {

/// fn with each of three functions that this processor can run.
template <class Function, class Fn>
void on_each_level(Function v2, Function v3, Function v4, Fn fn) {
  for (const auto level : {Isa::v2, Isa::v3, Isa::v4}) {
    if (level > best_isa()) continue;
    SCOPED_TRACE(to_string(level));
    fn(pick(v2, v3, v4, level));
  }
}
#define ON_EACH_LEVEL(function, fn) on_each_level(v2::function, v3::function, v4::function, fn)

template <class T>
class OptimizerSteps : public testing::Test {
 protected:
  using Values = std::vector<T>;
  /// One value by the formula: (value, first slot, second slot, gradient), changed in place.
  using Formula = std::function<void(double&, double&, double&, double)>;

  Values draw(std::size_t count, std::uint64_t stream, bool positive = false) {
    RandomStream random(9, stream);
    Values values(count);
    for (auto& value : values)
      value = static_cast<T>(positive ? 0.1 + random.uniform() : random.normal());
    return values;
  }

  /// Runs a step in place and to other buffers, for lengths around the vectors' and in the
  /// middle of a buffer, and compares both with the formula.
  template <class Step>
  void check(Step step, const Formula& formula) {
    for (const std::size_t count : {0, 1, 3, 7, 16, 31, 67, 1000}) {
      const auto g = draw(count + 1, 1);
      const auto value = draw(count + 1, 2);
      const auto first = draw(count + 1, 3, true), second = draw(count + 1, 4, true);
      auto in_place = std::vector<Values>{value, first, second};
      auto anew = std::vector<Values>(3, Values(count + 1, T{-7}));
      const auto own = [](Values& v) { return InOut<T>{v.data() + 1, v.data() + 1}; };
      const auto other = [](const Values& from, Values& to) {
        return InOut<T>{from.data() + 1, to.data() + 1};
      };
      const auto n = static_cast<std::int64_t>(count);
      step(n, own(in_place[0]), own(in_place[1]), own(in_place[2]), g.data() + 1);
      step(n, other(value, anew[0]), other(first, anew[1]), other(second, anew[2]), g.data() + 1);
      for (std::size_t i = 1; i <= count; ++i) {
        double v = value[i], a = first[i], b = second[i];
        formula(v, a, b, g[i]);
        const double tolerance = sizeof(T) == 4 ? 3e-6 : 1e-14;
        ASSERT_NEAR(in_place[0][i], v, tolerance * (1 + std::abs(v))) << i << " of " << count;
        ASSERT_EQ(anew[0][i], in_place[0][i]) << i << " of " << count;
        if (anew[1][i] == T{-7}) continue;  // the rule has no slots
        ASSERT_NEAR(in_place[1][i], a, tolerance * (1 + std::abs(a))) << i << " of " << count;
        ASSERT_EQ(anew[1][i], in_place[1][i]);
      }
      EXPECT_EQ(in_place[0][0], value[0]) << "what lies in front is left alone";
    }
  }

  const T rate = T(0.1), momentum = T(0.75), decay = T(0.875), epsilon = T(0.001);
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(OptimizerSteps, Types);

TYPED_TEST(OptimizerSteps, Sgd) {
  using T = TypeParam;
  ON_EACH_LEVEL(sgd_step<T>, [&](auto step) {
    this->check([&](auto n, auto v, auto, auto, auto* g) { step(n, v, g, this->rate); },
                [&](double& v, double&, double&, double g) { v -= this->rate * g; });
  });
}

TYPED_TEST(OptimizerSteps, Momentum) {
  using T = TypeParam;
  ON_EACH_LEVEL(momentum_step<T>, [&](auto step) {
    this->check([&](auto n, auto v, auto a, auto,
                    auto* g) { step(n, v, a, g, this->rate, this->momentum); },
                [&](double& v, double& a, double&, double g) {
                  a = this->momentum * a + g;
                  v -= this->rate * a;
                });
  });
}

TYPED_TEST(OptimizerSteps, Nesterov) {
  using T = TypeParam;
  ON_EACH_LEVEL(nesterov_step<T>, [&](auto step) {
    this->check([&](auto n, auto v, auto a, auto,
                    auto* g) { step(n, v, a, g, this->rate, this->momentum); },
                [&](double& v, double& a, double&, double g) {
                  a = this->momentum * a + g;
                  v -= this->rate * g + this->rate * this->momentum * a;
                });
  });
}

TYPED_TEST(OptimizerSteps, Adagrad) {
  using T = TypeParam;
  ON_EACH_LEVEL(adagrad_step<T>, [&](auto step) {
    this->check([&](auto n, auto v, auto a, auto, auto* g) { step(n, v, a, g, this->rate); },
                [&](double& v, double& a, double&, double g) {
                  a += g * g;
                  v -= this->rate * g / std::sqrt(a);
                });
  });
}

TYPED_TEST(OptimizerSteps, Adam) {
  using T = TypeParam;
  ON_EACH_LEVEL(adam_step<T>, [&](auto step) {
    this->check(
        [&](auto n, auto v, auto m, auto u, auto* g) {
          step(n, v, m, u, g, this->rate, this->momentum, this->decay, this->epsilon);
        },
        [&](double& v, double& m, double& u, double g) {
          m += (g - m) * (1 - this->momentum);
          u += (g * g - u) * (1 - this->decay);
          v -= this->rate * m / (std::sqrt(u) + this->epsilon);
        });
  });
}

TYPED_TEST(OptimizerSteps, RmsProp) {
  using T = TypeParam;
  ON_EACH_LEVEL(rmsprop_step<T>, [&](auto step) {
    this->check([&](auto n, auto v, auto u, auto,
                    auto* g) { step(n, v, u, g, this->rate, this->decay, this->epsilon); },
                [&](double& v, double& u, double&, double g) {
                  u += (g * g - u) * (1 - this->decay);
                  v -= this->rate * g / std::sqrt(u + this->epsilon);
                });
  });
}

TYPED_TEST(OptimizerSteps, RmsPropWithMomentum) {
  using T = TypeParam;
  ON_EACH_LEVEL(rmsprop_momentum_step<T>, [&](auto step) {
    this->check(
        [&](auto n, auto v, auto u, auto a, auto* g) {
          step(n, v, u, a, g, this->rate, this->decay, this->momentum, this->epsilon);
        },
        [&](double& v, double& u, double& a, double g) {
          u += (g * g - u) * (1 - this->decay);
          a = this->momentum * a + this->rate * g / std::sqrt(u + this->epsilon);
          v -= a;
        });
  });
}

TYPED_TEST(OptimizerSteps, MovingAverage) {
  using T = TypeParam;
  ON_EACH_LEVEL(average_step<T>, [&](auto step) {
    this->check([&](auto n, auto v, auto, auto, auto* g) { step(n, v, g, this->rate); },
                [&](double& v, double&, double&, double g) { v -= this->rate * (v - g); });
  });
}

}  // namespace
}  // namespace troupe::simd
