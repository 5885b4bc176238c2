#include <immintrin.h>

#include <cstring>

#include "troupe/ops/simd/decimal.h"
#include "troupe/ops/simd/number_kernels.h"

// A line is decoded in two steps, piece by piece. The first compares 64 bytes at
// a time with the delimiter and writes down where the fields end; it knows
// nothing of numbers. The second takes the 16 bytes that end with a field's
// delimiter, so that the digits stand right-aligned, and turns them into a
// number without looking at single characters. It has one branch: what is not of
// the form -12.34 with up to 15 characters goes to parse_float.
//
// The dot is taken out of "12.34," by moving what stands in front of it up by
// one, and the delimiter becomes a zero: 012340, over 10^3. A field without a dot
// has its delimiter where the dot would be, and is over 10^0. So whichever comes
// first is the dot, and all fields are alike.
//
// Why the result has the bits of strtof: an integer below 10^15 and a power of
// ten up to 10^22 are exact in double, so their quotient is the true value
// rounded once (W. Clinger, How to read floating point numbers accurately, 1990).
// Rounding it again to float differs from rounding the true value only where
// the quotient lies half-way between two floats, and these go to parse_float.

namespace troupe::simd::TROUPE_ISA {
namespace {

constexpr int kPiece = 16 * kBlock;  // bytes of one step
#ifdef __AVX512BW__
constexpr int kAtOnce = 4;  // fields
#else
constexpr int kAtOnce = 1;
#endif

// The fields of a line, found piece by piece. A field begins behind the end of
// the one before; where delimiters merge, with all but the first of them.
class Fields {
 public:
  Fields(const char* begin, const char* end, char delimiter, bool merge)
      : block_(begin), end_(end), delimiter_(delimiter), merge_(merge) {
    ends_[0] = begin - 1;
  }

  // Fields that are found and not dropped yet, and where they stand.
  int count() const { return count_; }
  const char* begin(int i) const { return ends_[i] + 1; }
  const char* end(int i) const { return ends_[i + 1]; }
  const char* const* ends(int i) const { return ends_ + i + 1; }

  bool more() const { return block_ <= end_; }

  // Looks at the next kPiece bytes. Fewer than kAtOnce fields may be left from before.
  void find() {
    for (int i = 0; i < kPiece && more(); i += kBlock, block_ += kBlock) {
      auto mask = equal_mask(block_, delimiter_);
      if (end_ - block_ < kBlock) {  // the end is a delimiter too, what lies behind it is not seen
        const auto end = std::uint64_t{1} << (end_ - block_);
        mask = (mask & (end - 1)) | (merge_ ? ~(end - 1) : end);
      }
      if (merge_) {
        const auto behind = mask << 1 | behind_;
        behind_ = mask >> 63;
        mask &= ~behind;
      }
      append(mask);
    }
  }

  void drop(int fields) {
    count_ -= fields;
    std::memmove(ends_, ends_ + fields, (count_ + 1) * sizeof *ends_);
  }

 private:
  // Eight ends are written at a time, so that the loop hardly depends on the
  // number of bits; the next ones overwrite those too many.
  void append(std::uint64_t mask) {
    const int bits = __builtin_popcountll(mask);
    for (int done = 0; done < bits; done += 8) {
      for (int i = 1; i <= 8; ++i) {
        ends_[count_ + done + i] = block_ + lowest_bit(mask);
        mask &= mask - 1;
      }
    }
    count_ += bits;
  }

  const char* block_;
  const char* end_;
  char delimiter_;
  bool merge_;
  std::uint64_t behind_ = 1;  // whether the byte in front of the block is a delimiter
  int count_ = 0;
  const char* ends_[kAtOnce + kPiece + 8];  // the first is the end in front of the first field
};

// The simple form with an exponent of two digits behind: -1.234e-05.
bool convert_exponent(const char* begin, const char* end, float* out) {
  if (end - begin <= 4) return false;
  const char* e = end - 4;
  const bool minus = e[1] == '-';
  const unsigned tens = static_cast<unsigned char>(e[2]) - unsigned{'0'};
  const unsigned ones = static_cast<unsigned char>(e[3]) - unsigned{'0'};
  Decimal d;
  if ((*e | 0x20) != 'e' || !(minus || e[1] == '+') || tens > 9 || ones > 9 ||
      !read_decimal(begin, e, d))
    return false;
  const int exponent = static_cast<int>(10 * tens + ones);
  const int power = d.power + (minus ? -exponent : exponent);
  if (power < -kLargestPower || power > kLargestPower) return false;
  const auto integer = static_cast<double>(d.integer);
  return round_to_float(power < 0 ? integer / kPowersOfTen[-power] : integer * kPowersOfTen[power],
                        d.negative, out);
}

#ifdef __AVX512BW__

// read_decimal and round_to_float for four fields, each in 16 bytes of a
// register. Stores four values; bit i of the result says that field i is not of
// the simple form and its value wrong. kBlanks: blanks in front are of the form.
template <bool kBlanks>
inline unsigned convert_four(const char* const* ends, char blank, float* out) {
  constexpr std::uint64_t kEach = 0x0001000100010001;  // masks have 16 bits a field
  const auto load = [](const char* end) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(end - 15));
  };
  auto bytes = _mm512_castsi128_si512(load(ends[0]));
  bytes = _mm512_inserti32x4(bytes, load(ends[1]), 1);
  bytes = _mm512_inserti32x4(bytes, load(ends[2]), 2);
  bytes = _mm512_inserti32x4(bytes, load(ends[3]), 3);

  // From the end before to this one is one more than the length. It goes to each byte of the field.
  const auto to_end =
      _mm256_sub_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(ends)),
                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ends - 1)));
  const auto twice = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
  const auto reach = _mm512_shuffle_epi8(
      _mm512_permutexvar_epi64(twice, _mm512_castsi256_si512(to_end)), _mm512_setzero_si512());
  const auto left =
      _mm512_broadcast_i32x4(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));

  const auto inside = _mm512_cmplt_epu8_mask(left, reach) & 0x7fff * kEach;
  auto field = inside;
  if (kBlanks) {
    const auto blanks = _mm512_mask_cmpeq_epi8_mask(inside, bytes, _mm512_set1_epi8(blank));
    field &= ~blanks | (blanks + (inside & ~(inside << 1)));  // the sum clears those in front
  }
  const auto first = field & ~(field << 1);
  const auto values = _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'));
  const auto digits = _mm512_mask_cmple_epu8_mask(field, values, _mm512_set1_epi8(9));
  const auto minus = _mm512_mask_cmpeq_epi8_mask(first, bytes, _mm512_set1_epi8('-'));
  const auto dots = _mm512_mask_cmpeq_epi8_mask(field, bytes, _mm512_set1_epi8('.'));
  const auto dot = dots | 0x8000 * kEach;             // in each field the lowest bit
  const auto to_dot = dot ^ (dot - kEach);            // that bit and those below
  const auto wrong = (field ^ minus ^ dots ^ digits)  // another character
                     | (dots & ~to_dot)               // a second dot
                     | (~digits & 0x4000 * kEach);    // no digit at the end

  const auto place =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  const auto one = _mm512_set1_epi8(1);
  const auto shuffle = _mm512_mask_sub_epi8(place, to_dot, place, one);
  const auto aligned = _mm512_shuffle_epi8(_mm512_maskz_mov_epi8(digits, values), shuffle);
  const auto twos = _mm512_maddubs_epi16(aligned, _mm512_set1_epi16(1 << 8 | 10));
  const auto fours = _mm512_madd_epi16(twos, _mm512_set1_epi32(1 << 16 | 100));
  const auto eights =
      _mm512_madd_epi16(_mm512_packus_epi32(fours, fours), _mm512_set1_epi32(1 << 16 | 10000));
  const auto sixteens = _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100000000)),
                                         _mm512_srli_epi64(eights, 32));
  // From each field's 16 bytes the first eight.
  const auto firsts = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
  const auto integers =
      _mm256_cvtepi64_pd(_mm512_castsi512_si256(_mm512_permutexvar_epi64(firsts, sixteens)));

  // The power of ten is the number of bytes behind the dot.
  const auto halves = _mm512_sad_epu8(_mm512_maskz_mov_epi8(~to_dot, one), _mm512_setzero_si512());
  const auto sums = _mm512_add_epi64(halves, _mm512_shuffle_epi32(halves, _MM_PERM_BADC));
  const auto powers =
      _mm512_permutex2var_pd(_mm512_load_pd(kPowersOfTen), _mm512_permutexvar_epi64(firsts, sums),
                             _mm512_load_pd(kPowersOfTen + 8));
  const auto value = _mm256_div_pd(integers, _mm512_castpd512_pd256(powers));

  const auto any = [](std::uint64_t mask) -> unsigned {  // from 16 bits a field to one
    const auto fields = _mm_cvtsi64_si128(static_cast<std::int64_t>(mask));
    return _mm_test_epi16_mask(fields, fields);
  };
  const auto negative = static_cast<__mmask8>(any(minus));
  const auto signed_value = _mm256_mask_xor_pd(value, negative, value, _mm256_set1_pd(-0.0));
  _mm_storeu_ps(out, _mm256_cvtpd_ps(signed_value));

  const auto below = _mm256_and_si256(_mm256_castpd_si256(value), _mm256_set1_epi64x(kBelowFloat));
  return any(wrong) | _mm256_cmpeq_epi64_mask(below, _mm256_set1_epi64x(kHalfway)) |
         _mm256_cmpgt_epu64_mask(to_end, _mm256_set1_epi64x(kLongest + 1));
}

#endif

const char* skip(char blank, const char* begin, const char* end) {
  while (begin != end && *begin == blank) ++begin;
  return begin;
}

// Converts fields one by one up to the first that is not of the simple form, or
// `count`, and returns its number.
inline int convert_run(const Fields& fields, int i, int count, char blank, float* out) {
  while (i < count &&
         convert_one(skip(blank, fields.begin(i), fields.end(i)), fields.end(i), out + i))
    ++i;
  return i;
}

// Any field.
DecodeFault convert(const char* begin, const char* end, char delimiter, char blank, float* out) {
  begin = skip(blank, begin, end);
  if (convert_exponent(begin, end, out) || convert_one(begin, end, out)) return DecodeFault::none;
  return parse_float(begin, end, delimiter, out);
}

}  // namespace

DecodeResult decode_floats(const char* begin, const char* end, char delimiter, float* out,
                           std::int64_t expected, DecodeOptions options) {
  const bool merge = options.merge_delimiters;
  const bool cut = options.trailing_delimiter && !merge && begin != end && end[-1] == delimiter;
  // What may stand in front of a number: where it is the delimiter, nothing or those to merge.
  const char blank = delimiter == '\t' || merge ? delimiter : ' ';
  const auto fault = [&](DecodeFault what, std::int64_t field, const char* at) {
    return decode_fault(what, begin, end, delimiter, options, field, at);
  };

  std::int64_t done = 0;
  Fields fields(begin, end - cut, delimiter, merge);
  while (fields.more() && begin != end) {
    fields.find();
    const bool too_many = fields.count() > expected - done;
    const int count = too_many ? static_cast<int>(expected - done) : fields.count();
    int i = 0;
#ifdef __AVX512BW__
    // Sixty-four fields before a look at what is not simple: the branch is hard to predict.
    for (int n = 0; i + kAtOnce <= count; i += n) {
      std::uint64_t slow = 0;
      for (n = 0; n < 64 && i + n + kAtOnce <= count; n += kAtOnce) {
        const auto* ends = fields.ends(i + n);
        float* to = out + done + i + n;
        slow |= std::uint64_t{merge ? convert_four<true>(ends, blank, to)
                                    : convert_four<false>(ends, blank, to)}
                << n;
      }
      for (; slow != 0; slow &= slow - 1) {
        const int k = i + lowest_bit(slow);
        const auto what = convert(fields.begin(k), fields.end(k), delimiter, blank, out + done + k);
        if (what != DecodeFault::none) return fault(what, done + k, fields.begin(k));
      }
    }
#endif
    // The rest is left for the next step, if there is one.
    const int one_by_one = kAtOnce == 1 || too_many || !fields.more() ? count : i;
    while ((i = convert_run(fields, i, one_by_one, blank, out + done)) < one_by_one) {
      const auto what = convert(fields.begin(i), fields.end(i), delimiter, blank, out + done + i);
      if (what != DecodeFault::none) return fault(what, done + i, fields.begin(i));
      ++i;
    }
    if (too_many) return fault(DecodeFault::too_many, expected, fields.begin(i));
    fields.drop(i);
    done += i;
  }
  if (done < expected) return fault(DecodeFault::too_few, done, end);

  DecodeResult result;
  result.fields = done;
  return result;
}

}  // namespace troupe::simd::TROUPE_ISA
