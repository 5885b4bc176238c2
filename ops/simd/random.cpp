#include "troupe/ops/simd/random.h"

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {
namespace v2 {
extern const RandomLoops random_loops;
}
namespace v3 {
extern const RandomLoops random_loops;
}
namespace v4 {
extern const RandomLoops random_loops;
}

const RandomLoops& random_loops() {
  return *pick(&v2::random_loops, &v3::random_loops, &v4::random_loops);
}

}  // namespace troupe::simd
