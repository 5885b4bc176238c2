#include "troupe/ops/simd/random.h"

namespace troupe::simd {
const RandomLoops& random_loops() {
  return *pick(&v2::random_loops, &v3::random_loops, &v4::random_loops);
}

}  // namespace troupe::simd
