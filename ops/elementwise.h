#pragma once

#include <string>

#include "troupe/ops/graph.h"

// Ops that work value by value. Operands of different shapes broadcast by
// NumPy's rule (see broadcast() in shape.h); their dtypes must be equal. All
// throw invalid_argument, naming the node, for operands they do not take.

namespace troupe {

// Arithmetic, of all numbers. Integers wrap around on overflow; division of an
// integer by zero ends the run with invalid_argument.
Output add(Output a, Output b);
Output sub(Output a, Output b);
Output mul(Output a, Output b);
/// Integers are rounded towards zero.
Output div(Output a, Output b);
/// Rounded down: floor_div(-7, 2) is -4.
Output floor_div(Output a, Output b);
/// What floor_div leaves, with the sign of b: mod(-7, 2) is 1.
Output mod(Output a, Output b);
/// NaN when either operand is, as in NumPy. Where both are equal the gradient goes to a.
Output maximum(Output a, Output b);
Output minimum(Output a, Output b);
/// a to the power b. Integers must not have a negative exponent.
Output pow(Output a, Output b);
/// (a - b)^2
Output squared_difference(Output a, Output b);

/// The sum of one or more tensors of one shape; no broadcasting.
Output add_n(const OutputList& terms);

// Comparisons, of numbers and bools, to bools.
Output equal(Output a, Output b);
Output not_equal(Output a, Output b);
Output less(Output a, Output b);
Output less_equal(Output a, Output b);
Output greater(Output a, Output b);
Output greater_equal(Output a, Output b);

// Of bools.
Output logical_and(Output a, Output b);
Output logical_or(Output a, Output b);
Output logical_not(Output x);

/// x where the condition holds and y where it does not. The three have one shape,
/// or are scalars.
Output select(Output condition, Output x, Output y);

/// Converted to another dtype; x itself when it has that one. Floats become
/// integers by dropping the fraction; what the integer cannot hold becomes the
/// nearest that it can, and NaN becomes 0. A gradient flows between float32 and
/// float64 only.
Output cast(Output x, DType dtype);

/// x itself; ends the run with invalid_argument at the first value that is
/// infinite or NaN, naming the node, the message, and where and what it is.
Output check_numerics(Output x, const std::string& message = "");

// Functions of one value. abs, neg, sign and square are of all numbers, the
// others floating. Those of float32 are within 4 units in the last place.
Output exp(Output x);
Output log(Output x);
Output log1p(Output x);  ///< log(1 + x)
Output sqrt(Output x);
Output rsqrt(Output x);  ///< 1 / sqrt(x)
Output square(Output x);
Output abs(Output x);
Output neg(Output x);
Output sign(Output x);  ///< -1, 0 or 1; no gradient flows through it, nor through the next three
Output floor(Output x);
Output ceil(Output x);
Output round(Output x);  ///< halves go to the even neighbour
Output reciprocal(Output x);
Output sin(Output x);
Output cos(Output x);
Output erf(Output x);

// Activations. NaN stays NaN.
Output relu(Output x);                            ///< max(x, 0)
Output relu6(Output x);                           ///< x limited to [0, 6]
Output leaky_relu(Output x, double alpha = 0.2);  ///< alpha x below zero
Output elu(Output x);                             ///< exp(x) - 1 below zero
Output tanh(Output x);
Output sigmoid(Output x);   ///< 1 / (1 + exp(-x))
Output softplus(Output x);  ///< log(1 + exp(x))
Output softsign(Output x);  ///< x / (1 + |x|)

/// x limited to [min, max]; no gradient flows where it is outside.
Output clip_by_value(Output x, double min, double max);

// Operators. A number takes the dtype of the other operand.
Output operator+(Output a, Output b);
Output operator+(Output a, double b);
Output operator+(double a, Output b);
Output operator-(Output a, Output b);
Output operator-(Output a, double b);
Output operator-(double a, Output b);
Output operator*(Output a, Output b);
Output operator*(Output a, double b);
Output operator*(double a, Output b);
Output operator/(Output a, Output b);
Output operator/(Output a, double b);
Output operator/(double a, Output b);
Output operator-(Output x);

}  // namespace troupe
