#include "troupe/ops/simd/elementwise.h"

namespace troupe::simd {
const Elementwise& elementwise() {
  return *pick(&v2::elementwise, &v3::elementwise, &v4::elementwise);
}

}  // namespace troupe::simd
