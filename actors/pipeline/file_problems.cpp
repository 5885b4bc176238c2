#include "troupe/actors/pipeline/file_problems.h"

#include <string_view>

namespace troupe {
namespace {

std::string lines(const std::vector<std::string>& problems) {
  std::string all;
  for (const auto& problem : problems) all += (all.empty() ? "" : "\n") + problem;
  return all;
}

}  // namespace

FileError::FileError(Code code, std::vector<std::string> problems)
    : Error(code, lines(problems)), problems_(std::move(problems)) {}

bool has_place_of(const std::string& words, const std::string& place) {
  // The file of "train.pbtxt:4:5".
  std::string_view file = place;
  for (int part = 0; part < 2; ++part) file = file.substr(0, file.find_last_of(':'));
  return std::string_view(words).starts_with(text(file, ':'));
}

void FileProblems::add(Code code, std::string words) {
  if (problems_.empty()) code_ = code;
  problems_.push_back(std::move(words));
}

void FileProblems::add(const Error& error, const std::string& place) {
  const std::string words = error.what();
  add(error.code(), has_place_of(words, place) ? words : text(place, ": ", words));
}

void FileProblems::expect_none() const {
  if (!problems_.empty()) throw FileError(code_, problems_);
}

}  // namespace troupe
