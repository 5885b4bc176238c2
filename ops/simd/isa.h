#pragma once

// Files called *.isa.cpp are compiled once for each of x86-64-v2, -v3 and -v4
// with TROUPE_ISA set to v2, v3 or v4. They define functions in
// troupe::simd::TROUPE_ISA, include no standard container and instantiate no
// template that another file might instantiate too: two objects that share a
// weak symbol would let the linker choose an instruction set.

namespace troupe::simd {

enum class Isa { v2, v3, v4 };

/// The best level that this processor has, or a lower one that the environment
/// variable TROUPE_MAX_ISA (v2, v3, v4) asks for. Decided once.
Isa isa();

const char* to_string(Isa isa);

/// pick(v2::f, v3::f, v4::f) is the function for this processor.
template <class T>
T pick(T v2, T v3, T v4) {
  switch (isa()) {
    case Isa::v4:
      return v4;
    case Isa::v3:
      return v3;
    case Isa::v2:
      break;
  }
  return v2;
}

}  // namespace troupe::simd
