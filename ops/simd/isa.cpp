#include "troupe/ops/simd/isa.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace troupe::simd {
namespace {

Isa limited(Isa found) {
  const char* limit = std::getenv("TROUPE_MAX_ISA");
  if (limit == nullptr) return found;
  if (std::strcmp(limit, "v2") == 0) return Isa::v2;
  if (std::strcmp(limit, "v3") == 0) return std::min(found, Isa::v3);
  return found;
}

}  // namespace

Isa best_isa() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma"))
    return Isa::v4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
    return Isa::v3;
  return Isa::v2;
}

Isa isa() {
  static const Isa decided = limited(best_isa());
  return decided;
}

const char* to_string(Isa isa) { return pick("x86-64-v2", "x86-64-v3", "x86-64-v4", isa); }

}  // namespace troupe::simd
