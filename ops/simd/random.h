#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {

/// Random numbers come in chunks of 64 words: 16 blocks of Philox side by side,
/// so that a chunk is made with vector instructions and stored as it lies. Word
/// i of a stream is
///
///   Philox(seed)(16 (i / 64) + i % 16)[i % 64 / 16]
///
/// on every processor.
constexpr std::int64_t kRandomChunk = 64;

/// Loops over random words, built for each instruction set. n is at most the
/// number of words; `words` is a whole number of chunks.
struct RandomLoops {
  /// Writes the words of the chunks [first, first + count).
  void (*words)(std::uint64_t seed, std::uint64_t first, std::int64_t count, std::uint32_t* words);

  /// y[i] uniform in [low, high).
  void (*uniform)(const std::uint32_t* words, float* y, std::int64_t n, float low, float high);

  /// y[i] normal (Box and Muller), in whole chunks.
  void (*normal)(const std::uint32_t* words, float* y, std::int64_t chunks, float mean,
                 float stddev);

  /// mask[i] = words[i] >= threshold, y[i] = mask[i] ? scale x[i] : 0.
  void (*dropout)(const float* x, const std::uint32_t* words, float* y, std::uint8_t* mask,
                  std::int64_t n, std::uint32_t threshold, float scale);

  /// dx[i] = mask[i] ? scale dy[i] : 0.
  void (*dropout_grad)(const float* dy, const std::uint8_t* mask, float* dx, std::int64_t n,
                       float scale);
};

TROUPE_EACH_ISA(extern const RandomLoops random_loops;)

/// Those for this processor.
const RandomLoops& random_loops();

}  // namespace troupe::simd
