#include "troupe/ops/dtype.h"

#include <array>
#include <bit>
#include <ostream>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

struct Entry {
  DType type;
  std::string_view name;
};

constexpr std::array<Entry, 11> kTypes{{
    {DType::float32, "float32"},
    {DType::float64, "float64"},
    {DType::bfloat16, "bfloat16"},
    {DType::float16, "float16"},
    {DType::int8, "int8"},
    {DType::int16, "int16"},
    {DType::int32, "int32"},
    {DType::int64, "int64"},
    {DType::uint8, "uint8"},
    {DType::boolean, "bool"},
    {DType::string, "string"},
}};

const Entry& entry(DType type) {
  const auto index = static_cast<std::size_t>(type) - 1;
  if (index >= kTypes.size()) fail_unknown(type);
  return kTypes[index];
}

}  // namespace

void fail_unknown(DType type) {
  fail(Code::invalid_argument, "no dtype has the number ", static_cast<int>(type));
}
std::string_view to_string(DType type) { return entry(type).name; }
std::ostream& operator<<(std::ostream& out, DType type) { return out << to_string(type); }

DType parse_dtype(std::string_view name) {
  std::string known;
  for (const auto& t : kTypes) {
    if (t.name == name) return t.type;
    known += text(known.empty() ? "" : ", ", t.name);
  }
  fail(Code::invalid_argument, "no dtype is called '", name, "'; there are: ", known);
}

bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)  // keep NaN a NaN
    return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  const std::uint32_t half = 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<std::uint16_t>((bits + half) >> 16)};
}

float to_float(bfloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  const auto scaled = [&](std::uint32_t mantissa, int shift) {  // round to nearest even
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1);
    const std::uint32_t half = 1u << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1u)));
  };
  if (magnitude < 0x38800000u) {  // subnormal in half precision
    const int exponent = static_cast<int>(magnitude >> 23);
    if (exponent < 102) return {sign};
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    return {static_cast<std::uint16_t>(sign | scaled(mantissa, 126 - exponent))};
  }
  return {static_cast<std::uint16_t>(sign | scaled(magnitude - 0x38000000u, 13))};
}

float to_float(float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace troupe
