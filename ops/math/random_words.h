#pragma once

#include <algorithm>
#include <string>

#include "troupe/ops/kernel.h"
#include "troupe/ops/random.h"
#include "troupe/ops/simd/random.h"

namespace troupe {

/// The random words of one node, in chunks (see simd/random.h).
class RandomWords {
 public:
  explicit RandomWords(const KernelInit& init)
      : name_(init.node.name),
        seed_(static_cast<std::uint64_t>(init.attributes().get_or<std::int64_t>("seed", 0))) {}

  /// The seed of the node's stream in this run.
  std::uint64_t seed(const Run& run) const { return seed_for(run.seed ^ seed_, name_); }

  /// Calls fn(words, begin, count) for pieces of [0, total), whole chunks but
  /// for the last, on the threads of the run. `cycles` is what fn costs a value.
  template <class Fn>
  void for_each_piece(const Run& run, std::int64_t total, double cycles, Fn fn) const {
    constexpr auto kChunk = simd::kRandomChunk;
    const auto seed = this->seed(run);
    const auto& loops = simd::random_loops();
    run.intra.parallel_for(
        (total + kChunk - 1) / kChunk, (cycles + kCycles) * kChunk, [&](auto begin, auto end) {
          alignas(64) std::uint32_t words[kPiece * kChunk];
          for (; begin < end; begin += kPiece) {
            const auto chunks = std::min(kPiece, end - begin);
            loops.words(seed, static_cast<std::uint64_t>(begin), chunks, words);
            fn(words, begin * kChunk, std::min(chunks * kChunk, total - begin * kChunk));
          }
        });
  }

  static constexpr double kCycles = 2;  // of one word

 private:
  static constexpr std::int64_t kPiece = 16;  // chunks at a time
  std::string name_;
  std::uint64_t seed_;
};

}  // namespace troupe
