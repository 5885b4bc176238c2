#include "troupe/ops/simd/reduce.h"

namespace troupe::simd {
const ReduceFloat& reduce_float() {
  return *pick(&v2::reduce_float, &v3::reduce_float, &v4::reduce_float);
}

}  // namespace troupe::simd
