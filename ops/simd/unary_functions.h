#pragma once

// Functions of one value and their gradients, as types that a loop can be made
// of. The parameters p and q are 0 where a function has none.

#include "troupe/ops/simd/binary_functions.h"

namespace troupe::simd::TROUPE_LEVEL {

/// What a value costs, about, in the loop over float32 of a recent processor.
struct Cheap {
  static constexpr double kCycles = 0.3;
};
struct Costly {
  static constexpr double kCycles = 1.2;
};

/// Name::of(x, p, q) is the expression, for any T.
#define TROUPE_FUNCTION(Name, Cost, ...)                                         \
  struct Name : Cost {                                                           \
    template <class T>                                                           \
    static TROUPE_INLINE T of(T x, [[maybe_unused]] T p, [[maybe_unused]] T q) { \
      return __VA_ARGS__;                                                        \
    }                                                                            \
  };

TROUPE_FUNCTION(Exp, Costly, exp_of(x))
TROUPE_FUNCTION(Log, Costly, log_of(x))
TROUPE_FUNCTION(Log1p, Costly, log1p_of(x))
TROUPE_FUNCTION(Tanh, Costly, tanh_of(x))
TROUPE_FUNCTION(Sigmoid, Costly, sigmoid_of(x))
TROUPE_FUNCTION(Softplus, Costly, (x > T{0} ? x : T{0}) + log1p_of_fraction(exp_of(-abs_of(x))))
TROUPE_FUNCTION(Sqrt, Cheap, sqrt_of(x))
TROUPE_FUNCTION(Rsqrt, Cheap, T{1} / sqrt_of(x))
TROUPE_FUNCTION(Reciprocal, Cheap, T{1} / x)
TROUPE_FUNCTION(Floor, Cheap, floor_of(x))
TROUPE_FUNCTION(Ceil, Cheap, ceil_of(x))
TROUPE_FUNCTION(Round, Cheap, round_of(x))
TROUPE_FUNCTION(Softsign, Cheap, x / (T{1} + abs_of(x)))
TROUPE_FUNCTION(Square, Cheap, Mul::of(x, x))
TROUPE_FUNCTION(Neg, Cheap, kIsFloating<T> ? -x : Sub::of(T{0}, x))

// Where x is compared, zero and NaN take the branch that keeps them.
TROUPE_FUNCTION(Sign, Cheap, x > T{0} ? T{1} : (x < T{0} ? static_cast<T>(-1) : x))
TROUPE_FUNCTION(Relu, Cheap, T{0} > x ? T{0} : x)
TROUPE_FUNCTION(LeakyRelu, Cheap, x < T{0} ? p * x : x)
TROUPE_FUNCTION(Clip, Cheap, x < p ? p : (x > q ? q : x))

struct Elu : Costly {
  template <class T>
  static TROUPE_INLINE T of(T x, T, T) {
    const T below = expm1_of_negative(x < T{0} ? x : T{0});
    return x < T{0} ? below : x;
  }
};

struct Abs : Cheap {
  template <class T>
  static TROUPE_INLINE T of(T x, T, T) {
    if constexpr (kIsFloating<T>)
      return abs_of(x);
    else
      return x < T{0} ? Sub::of(T{0}, x) : x;
  }
};

#undef TROUPE_FUNCTION

/// Name::of(dy, v, p, q) is the expression; v is the output y of the function, or its input x.
#define TROUPE_GRADIENT(Name, Cost, v, ...)                                            \
  struct Name : Cost {                                                                 \
    template <class T>                                                                 \
    static TROUPE_INLINE T of(T dy, T v, [[maybe_unused]] T p, [[maybe_unused]] T q) { \
      return __VA_ARGS__;                                                              \
    }                                                                                  \
  };

TROUPE_GRADIENT(ReluGrad, Cheap, y, y > T{0} ? dy : T{0})
TROUPE_GRADIENT(TanhGrad, Cheap, y, dy*(T{1} - y * y))
TROUPE_GRADIENT(SigmoidGrad, Cheap, y, dy*(y*(T{1} - y)))
TROUPE_GRADIENT(EluGrad, Cheap, y, y < T{0} ? dy * (y + T{1}) : dy)
TROUPE_GRADIENT(SqrtGrad, Cheap, y, dy* T{0.5} / y)
TROUPE_GRADIENT(RsqrtGrad, Cheap, y, T{-0.5} * dy * (y * y * y))
TROUPE_GRADIENT(ReciprocalGrad, Cheap, y, -dy*(y* y))

TROUPE_GRADIENT(ClipGrad, Cheap, x, x < p ? T{0} : (x > q ? T{0} : dy))
TROUPE_GRADIENT(Relu6Grad, Cheap, x, x > T{0} ? (x < T{6} ? dy : T{0}) : T{0})
TROUPE_GRADIENT(LeakyReluGrad, Cheap, x, x > T{0} ? dy : p * dy)
TROUPE_GRADIENT(SquareGrad, Cheap, x, T{2} * dy * x)
TROUPE_GRADIENT(SoftplusGrad, Costly, x, dy* sigmoid_of(x))
TROUPE_GRADIENT(SoftsignGrad, Cheap, x, dy / ((T{1} + abs_of(x)) * (T{1} + abs_of(x))))

#undef TROUPE_GRADIENT

}  // namespace troupe::simd::TROUPE_LEVEL
