#pragma once

// Hot loops are compiled three times, for x86-64-v2, -v3 and -v4, and one of the
// three is chosen at start. To add a file of them:
//
//  1. Declare the function once, in a header of its own that holds plain types
//     (pointers, integers, structs of them) and no standard container:
//
//       namespace troupe::simd {
//       TROUPE_EACH_ISA(void scale(float* x, std::int64_t count, float factor);)
//       }
//
//  2. Define it in scale.isa.cpp, in the namespace of the level; what else the
//     file needs stands in an anonymous namespace inside of that. Every *.isa.cpp
//     below a room is found and built by itself. Intrinsics go by the compiler's
//     own macros (#ifdef __AVX512BW__, __AVX2__; SSE4.2 is always there).
//
//       namespace troupe::simd::TROUPE_ISA {
//       void scale(float* x, std::int64_t count, float factor) { ... }
//       }
//
//  3. Call the one for this processor, or each that it has (tests do):
//
//       static const auto scale = TROUPE_PICK(scale);
//
// The trap: an inline function or a template instance, std::max<float> for one,
// has the same name in all three objects, the linker keeps any one of them, and
// a v4 instance then runs on a v2 machine. So these files use templates and
// inline functions of their own namespace only, call everything else through an
// ordinary function that another file defines, and of Eigen they get a copy with
// a name of its own (see below). The test isa_objects looks into the objects.

#ifdef TROUPE_ISA
#define TROUPE_ISA_JOIN_(a, b) a##b
#define TROUPE_ISA_JOIN(a, b) TROUPE_ISA_JOIN_(a, b)
// Eigen 3.4 has no inline namespace for its instruction set, so its own is
// renamed. This must come before the first include of Eigen.
#ifdef EIGEN_CORE_H
#error "include troupe/ops/simd/isa.h before Eigen"
#endif
#define Eigen TROUPE_ISA_JOIN(Eigen_, TROUPE_ISA)
#endif

/// The same declarations for each level: troupe::simd::v2, v3 and v4.
#define TROUPE_EACH_ISA(...) \
  namespace v2 {             \
  __VA_ARGS__                \
  }                          \
  namespace v3 {             \
  __VA_ARGS__                \
  }                          \
  namespace v4 {             \
  __VA_ARGS__                \
  }

/// The function of this name that suits this processor.
#define TROUPE_PICK(function)                                                      \
  ::troupe::simd::pick(::troupe::simd::v2::function, ::troupe::simd::v3::function, \
                       ::troupe::simd::v4::function)

namespace troupe::simd {

enum class Isa { v2, v3, v4 };

/// The best level that this processor has.
Isa best_isa();

/// The level in use: the best one, or a lower one that the environment variable
/// TROUPE_MAX_ISA (v2, v3, v4) asks for. Decided once.
Isa isa();

const char* to_string(Isa isa);

/// One of three, by level.
template <class T>
T pick(T v2, T v3, T v4, Isa level = isa()) {
  return level == Isa::v4 ? v4 : level == Isa::v3 ? v3 : v2;
}

}  // namespace troupe::simd
