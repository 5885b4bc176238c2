#pragma once

// Short decimal numbers without looking at single characters: for *.isa.cpp files.

#include <immintrin.h>

#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd::TROUPE_ISA {

constexpr int kBlock = 64;    // bytes of one mask
constexpr int kLongest = 15;  // characters of a number of the simple form

constexpr int kLargestPower = 22;
alignas(64) constexpr double kPowersOfTen[kLargestPower + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A double's bits below those of a float, and their value half-way.
constexpr std::uint64_t kBelowFloat = 0x1fffffff;
constexpr std::uint64_t kHalfway = 0x10000000;

inline int lowest_bit(std::uint64_t mask) { return mask == 0 ? 64 : __builtin_ctzll(mask); }

/// Bit i says whether block[i] is c.
inline std::uint64_t equal_mask(const char* block, char c) {
#if defined(__AVX512BW__)
  return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(block), _mm512_set1_epi8(c));
#elif defined(__AVX2__)
  const auto half = [=](const char* p) -> std::uint64_t {
    const auto bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const auto equal = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(equal));
  };
  return half(block) | half(block + 32) << 32;
#else
  const auto quarter = [=](const char* p) -> std::uint64_t {
    const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))));
  };
  return quarter(block) | quarter(block + 16) << 16 | quarter(block + 32) << 32 |
         quarter(block + 48) << 48;
#endif
}

// [d] moves the bytes in front of byte d, the dot, up by one.
struct DotShuffles {
  alignas(16) unsigned char bytes[16][16];

  constexpr DotShuffles() : bytes() {
    for (int dot = 0; dot < 16; ++dot) {
      for (int i = 0; i < 16; ++i) bytes[dot][i] = i > dot ? i : i - 1;  // -1 gives zero
      if (dot < 15) bytes[dot][15] = 0x80;                               // so does this
    }
  }
};
constexpr DotShuffles kDotShuffles;

// Loaded from [n], keeps the last n + 1 of 16 bytes.
alignas(32) constexpr unsigned char kLastBytes[32] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/// integer * 10^power, with the sign apart because of -0.
struct Decimal {
  std::int64_t integer;
  int power;               // 0 to -14; 0 only where there is no dot
  std::uint64_t negative;  // 0 or 1
};

/// Reads a number of the simple form: -12.34 with up to 15 characters behind the
/// sign, the last of them no dot. False for anything else. Reads 15 bytes in front
/// of `end` and the one behind.
inline bool read_decimal(const char* begin, const char* end, Decimal& decimal) {
  // *begin == '-', but as arithmetic: g++ makes a comparison "sete cl", which waits for the last
  // value of rcx, that is for the end of the field before, and the fields no longer overlap.
  decimal.negative = ((std::uint64_t{static_cast<unsigned char>(*begin)} ^ '-') - 1) >> 63;
  const auto length = static_cast<std::uint64_t>(end - begin) - decimal.negative;
  if (length - 1 >= kLongest) return false;

  const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(end - 15));
  const auto field = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kLastBytes + length));
  const auto values = _mm_and_si128(_mm_sub_epi8(bytes, _mm_set1_epi8('0')), field);
  const auto small = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
  const auto dot = _mm_cmpeq_epi8(values, _mm_set1_epi8('.' - '0'));
  const unsigned others = 0x7fff & ~_mm_movemask_epi8(small);
  const unsigned dots = 0x7fff & _mm_movemask_epi8(dot);
  const unsigned two_or_last = dots & ((dots - 1) | 0x4000);
  if ((others ^ dots) | two_or_last) return false;

  const int at = __builtin_ctz(dots | 0x8000);
  const auto shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(kDotShuffles.bytes[at]));
  const auto digits = _mm_shuffle_epi8(values, shuffle);
  const auto twos = _mm_maddubs_epi16(digits, _mm_set1_epi16(1 << 8 | 10));
  const auto fours = _mm_madd_epi16(twos, _mm_set1_epi32(1 << 16 | 100));
  const auto eights =
      _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
  const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
  decimal.integer = static_cast<std::int64_t>((both & 0xffffffff) * 100000000 + (both >> 32));
  decimal.power = at - 15;
  return true;
}

/// The double nearest to a number, its sign left out: integer and power are exact.
inline double magnitude(const Decimal& decimal) {
  return static_cast<double>(decimal.integer) / kPowersOfTen[-decimal.power];
}

/// `value` with the sign bit `negative`. Signs are hard to predict: no branch for them.
inline double with_sign(double value, std::uint64_t negative) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  bits |= negative << 63;
  __builtin_memcpy(&value, &bits, sizeof bits);
  return value;
}

/// False half-way between two floats.
inline bool round_to_float(double value, std::uint64_t negative, float* out) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if ((bits & kBelowFloat) == kHalfway) return false;
  *out = static_cast<float>(with_sign(value, negative));
  return true;
}

/// A number of the simple form; false for any other.
inline bool convert_one(const char* begin, const char* end, float* out) {
  Decimal d;
  return read_decimal(begin, end, d) && round_to_float(magnitude(d), d.negative, out);
}

}  // namespace troupe::simd::TROUPE_ISA
