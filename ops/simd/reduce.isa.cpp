#include "troupe/ops/simd/reduce.h"

#include "troupe/ops/simd/reduce_loops.h"

namespace troupe::simd::TROUPE_ISA {

const ReduceFloat reduce_float{
    .sum = reduce_of<SumOf<float, double>>(),
    .sum_of_squares = reduce_of<SumOfSquares<float, double>>(),
    .max = reduce_of<MaxOf<float>>(),
    .min = reduce_of<MinOf<float>>(),
};

}  // namespace troupe::simd::TROUPE_ISA
