#include "troupe/ops/simd/random.h"

#include "troupe/ops/simd/float_math.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

constexpr int kLanes = 16;

/// Sixteen blocks of Philox4x32-10; see ops/random.h for one.
void philox(std::uint64_t seed, std::uint64_t counter, std::uint32_t* words) {
  std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t at = counter + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(at);
    c1[i] = static_cast<std::uint32_t>(at >> 32);
    c2[i] = 0;
    c3[i] = 0;
  }
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0[i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(p1);
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kLanes; ++i) {
    words[i] = c0[i];
    words[i + kLanes] = c1[i];
    words[i + 2 * kLanes] = c2[i];
    words[i + 3 * kLanes] = c3[i];
  }
}

void words(std::uint64_t seed, std::uint64_t first, std::int64_t count, std::uint32_t* out) {
  for (std::int64_t i = 0; i < count; ++i)
    philox(seed, (first + static_cast<std::uint64_t>(i)) * kLanes, out + i * kRandomChunk);
}

void uniform(const std::uint32_t* words, float* y, std::int64_t n, float low, float high) {
  const float range = (high - low) * 0x1p-24f;
  const float last = __builtin_nextafterf(high, low);  // rounding may reach the bound
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = low + range * static_cast<float>(static_cast<std::int32_t>(words[i] >> 8));
    y[i] = value < high ? value : last;
  }
}

struct SinCos {
  float sin, cos;
};

/// Of 2 pi x for x in [-1/2, 1/2]. The polynomials are Cephes's.
TROUPE_INLINE SinCos sincos_of_turn(float x) {
  const float quarter = round_of(4.f * x);
  const float a = (x - 0.25f * quarter) * 6.28318530717958648f;
  const float z = a * a;
  const float sin = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * a + a;
  const float cos =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
      0.5f * z + 1.f;
  const auto q = static_cast<std::int32_t>(quarter);  // -2 to 2
  const bool swapped = (q & 1) != 0;
  const float s = swapped ? cos : sin;
  const float c = swapped ? sin : cos;
  return {(q & 2) != 0 ? -s : s, ((q + 1) & 2) != 0 ? -c : c};
}

void normal(const std::uint32_t* words, float* y, std::int64_t chunks, float mean, float stddev) {
  for (std::int64_t pair = 0; pair < 2 * chunks; ++pair, words += 2 * kLanes, y += 2 * kLanes) {
    TROUPE_INDEPENDENT
    for (int i = 0; i < kLanes; ++i) {
      const auto first = static_cast<std::int32_t>(words[i] >> 1);
      const auto second = static_cast<std::int32_t>(words[i + kLanes]);
      const float u = (static_cast<float>(first) + 1.f) * 0x1p-31f;  // in (0, 1]
      const float radius = stddev * sqrt_of(-2.f * log_of_normal(u, 0));
      const auto [sin, cos] = sincos_of_turn(static_cast<float>(second) * 0x1p-32f);
      y[i] = mean + radius * cos;
      y[i + kLanes] = mean + radius * sin;
    }
  }
}

void dropout(const float* x, const std::uint32_t* words, float* y, std::uint8_t* mask,
             std::int64_t n, std::uint32_t threshold, float scale) {
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) y[i] = words[i] >= threshold ? scale * x[i] : 0.f;
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) mask[i] = words[i] >= threshold;
}

void dropout_grad(const float* dy, const std::uint8_t* mask, float* dx, std::int64_t n,
                  float scale) {
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) dx[i] = mask[i] != 0 ? scale * dy[i] : 0.f;
}

}  // namespace

const RandomLoops random_loops{.words = words,
                               .uniform = uniform,
                               .normal = normal,
                               .dropout = dropout,
                               .dropout_grad = dropout_grad};

}  // namespace troupe::simd::TROUPE_ISA
