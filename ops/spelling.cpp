#include "troupe/ops/spelling.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {
namespace {

/// How many letters must be changed, added or left out (Levenshtein 1966).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const auto changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& others) {
  constexpr std::size_t kLongest = 64;  // what is longer is no slip of the pen
  if (word.size() > kLongest) return {};
  std::string best;
  auto least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& other : others) {
    const bool begins = word.size() >= 2 && other.starts_with(word);
    const auto d = begins ? 1 : distance(word, other);
    if (d < std::min(least, other.size())) {
      least = d;
      best = other;
    }
  }
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

}  // namespace troupe
