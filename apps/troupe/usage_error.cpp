#include "usage_error.h"

#include <regex>
#include <utility>

namespace troupe::cli {

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
