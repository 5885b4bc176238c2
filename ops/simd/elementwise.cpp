#include "troupe/ops/simd/elementwise.h"

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {
namespace v2 {
extern const Elementwise elementwise;
}
namespace v3 {
extern const Elementwise elementwise;
}
namespace v4 {
extern const Elementwise elementwise;
}

const Elementwise& elementwise() {
  return *pick(&v2::elementwise, &v3::elementwise, &v4::elementwise);
}

}  // namespace troupe::simd
