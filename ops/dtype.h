#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace troupe {

/// The type of a tensor's values. bfloat16 and float16 are for storage and
/// casts; kernels compute in float32 and float64, and in integers where that
/// makes sense.
enum class DType : std::uint8_t {
  float32 = 1,
  float64 = 2,
  bfloat16 = 3,
  float16 = 4,
  int8 = 5,
  int16 = 6,
  int32 = 7,
  int64 = 8,
  uint8 = 9,
  boolean = 10,
  string = 11,
};

/// 16-bit floats, kept as their bits. Conversions round to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;
};
struct float16 {
  std::uint16_t bits = 0;
};

bfloat16 to_bfloat16(float value);
float to_float(bfloat16 value);
float16 to_float16(float value);
float to_float(float16 value);

/// Throws invalid_argument for a number that is none of the above.
[[noreturn]] void fail_unknown(DType type);

/// Bytes of one value; of a string tensor, sizeof(std::string). Throws as fail_unknown().
constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::int8:
    case DType::uint8:
    case DType::boolean:
      return 1;
    case DType::bfloat16:
    case DType::float16:
    case DType::int16:
      return 2;
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::float64:
    case DType::int64:
      return 8;
    case DType::string:
      return sizeof(std::string);
  }
  fail_unknown(type);
}

/// "float32", "int64", "bool", ...
std::string_view to_string(DType type);
std::ostream& operator<<(std::ostream& out, DType type);

/// The inverse of to_string. Throws invalid_argument listing the known names.
DType parse_dtype(std::string_view name);

constexpr bool is_floating(DType t) { return t == DType::float32 || t == DType::float64; }
constexpr bool is_integer(DType t) { return t >= DType::int8 && t <= DType::uint8; }
constexpr bool is_numeric(DType t) { return is_floating(t) || is_integer(t); }

/// dtype_of<float>() is DType::float32.
template <class T>
struct DTypeOf;
// clang-format off
template <> struct DTypeOf<float> { static constexpr DType value = DType::float32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::float64; };
template <> struct DTypeOf<bfloat16> { static constexpr DType value = DType::bfloat16; };
template <> struct DTypeOf<float16> { static constexpr DType value = DType::float16; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::int8; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::int16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::int32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::int64; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::uint8; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
template <> struct DTypeOf<std::string> { static constexpr DType value = DType::string; };
// clang-format on
template <class T>
constexpr DType dtype_of() {
  return DTypeOf<T>::value;
}

}  // namespace troupe
