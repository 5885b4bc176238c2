#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/pipeline/text_places.h"
#include "troupe/ops/spelling.h"

namespace troupe {

/// What one of several words stands for. Throws not_found with all of them:
/// "no activation is called 'rleu'; there are: relu, tanh; did you mean 'relu'?".
template <class Meaning>
Meaning meaning_of(const std::string& word, const char* what,
                   const std::vector<std::pair<std::string, Meaning>>& words) {
  std::string all;
  std::vector<std::string> names;
  for (const auto& [name, meaning] : words) {
    if (name == word) return meaning;
    all += (all.empty() ? "" : ", ") + name;
    names.push_back(name);
  }
  fail(Code::not_found, "no ", what, " is called '", word, "'; there are: ", all,
       suggestion(word, names));
}

/// A number from `least` to `most`. Throws invalid_argument with its place.
template <class Message, class Number>
Number in_range(const Located<Message>& message, const char* field, Number value, Number least,
                Number most) {
  if (!(value >= least && value <= most))
    fail(Code::invalid_argument, message.place(field), ": ", field, " is ", value,
         "; it goes from ", least, " to ", most);
  return value;
}

}  // namespace troupe
