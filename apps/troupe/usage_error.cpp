#include "usage_error.h"

#include <algorithm>
#include <numeric>
#include <regex>
#include <utility>

namespace troupe::cli {
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

std::string in_plain_words(const std::string& message, bool flags) {
  using Rules = std::vector<std::pair<std::regex, std::string>>;
  static const Rules names{
      // Options that the command line does not have.
      {std::regex(R"( \(\w+::\w+[^)]*\))"), ""},
      {std::regex(R"( \(\w+ if that is fine\))"), ""},
      {std::regex(R"(RandomShuffleQueue)"), "shuffle queue"},
      {std::regex(R"(FIFOQueue)"), "queue"},
  };
  static const Rules options{
      {std::regex(R"(\bmin_after_dequeue\b)"), "--min-after-dequeue"},
      {std::regex(R"(\bcheckpoints\.directory\b)"), "--directory"},
      {std::regex(R"(\bcheckpoints\.resume\b)"), "--resume"},
      {std::regex(R"(\bcheckpoints\.every\b)"), "--checkpoint-every"},
      {std::regex(R"(\binter_op\b)"), "--inter-op"},
      {std::regex(R"(\bintra_op\b)"), "--intra-op"},
  };
  auto words = message;
  for (const auto* rules : {&names, &options})
    if (flags || rules == &names)
      for (const auto& [pattern, replacement] : *rules)
        words = std::regex_replace(words, pattern, replacement);
  return words;
}

}  // namespace troupe::cli
