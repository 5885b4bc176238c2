#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace troupe {

/// Philox4x32-10 (Salmon et al., SC 2011): random numbers as a function of a key
/// and a counter. No state to share or to save: value i of stream s is the same
/// whichever thread asks for it, and when.
class Philox {
 public:
  using Block = std::array<std::uint32_t, 4>;

  explicit Philox(std::uint64_t seed, std::uint64_t stream = 0) : key_(seed), stream_(stream) {}

  /// Four 32-bit numbers.
  Block operator()(std::uint64_t counter) const {
    std::uint32_t c0 = static_cast<std::uint32_t>(counter);
    std::uint32_t c1 = static_cast<std::uint32_t>(counter >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(stream_);
    std::uint32_t c3 = static_cast<std::uint32_t>(stream_ >> 32);
    std::uint32_t k0 = static_cast<std::uint32_t>(key_);
    std::uint32_t k1 = static_cast<std::uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2;
      c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c1 = static_cast<std::uint32_t>(p1);
      c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c3 = static_cast<std::uint32_t>(p0);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return {c0, c1, c2, c3};
  }

 private:
  std::uint64_t key_;
  std::uint64_t stream_;
};

/// 24 random bits as a float in [0, 1), 53 of two words as a double.
inline float to_unit_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
inline double to_unit_double(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

/// Scrambles 64 bits (the finaliser of SplitMix64); for deriving seeds.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A seed for a named stream: the same on every machine (FNV-1a of the name, mixed).
constexpr std::uint64_t seed_for(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return mix(seed ^ mix(hash));
}

/// A sequence of random numbers for code that draws one after the other
/// (shuffling a queue, initial values). Its position can be saved.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed, std::uint64_t stream = 0) : philox_(seed, stream) {}

  std::uint32_t next() {
    if (position_ % 4 == 0) block_ = philox_(position_ / 4);
    return block_[position_++ % 4];
  }
  /// Uniform in [0, bound), without bias (Lemire 2019); bound at least 1.
  std::uint64_t below(std::uint64_t bound);
  double uniform() {
    const auto high = next();
    return to_unit_double(high, next());
  }
  /// Standard normal (Box and Muller).
  double normal();

  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) {
    position_ = position;
    block_ = philox_(position_ / 4);
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  std::uint64_t position_ = 0;
};

}  // namespace troupe
