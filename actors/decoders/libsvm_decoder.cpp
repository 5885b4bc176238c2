#include "troupe/actors/decoders/libsvm_decoder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

std::string_view without_plus(std::string_view word) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  return word;
}

std::optional<std::int64_t> integer_of(std::string_view word) {
  word = without_plus(word);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<double> number_of(std::string_view word) {
  word = without_plus(word);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size() || error == std::errc::invalid_argument) return std::nullopt;
  // Too small or too large: strtod says which.
  if (error == std::errc::result_out_of_range)
    return std::strtod(std::string(word).c_str(), nullptr);
  return value;
}

}  // namespace

/// The words of a line, and the complaints about them.
class LibsvmDecoder::Line {
 public:
  Line(const RecordRun& run, std::size_t i)
      : run_(run), i_(i), begin_(run.begin(i)), at_(run.begin(i)), end_(run.end(i)) {
    end_ = std::find(at_, end_, '#');
  }

  /// The next word; empty at the end of the line.
  std::string_view next() {
    const auto blank = [](char c) { return kBlanks.find(c) != std::string_view::npos; };
    at_ = std::find_if_not(at_, end_, blank);
    const auto* last = std::find_if(at_, end_, blank);
    const std::string_view word(at_, static_cast<std::size_t>(last - at_));
    at_ = last;
    return word;
  }

  /// Complains about what begins at `where`.
  template <class... Parts>
  [[noreturn]] void refuse(const char* where, const Parts&... parts) const {
    fail(Code::invalid_argument, run_.place(i_), ":", where - begin_ + 1, ": ", parts...);
  }

 private:
  const RecordRun& run_;
  std::size_t i_;
  const char* begin_;
  const char* at_;
  const char* end_;
};

LibsvmDecoder::LibsvmDecoder(LibsvmDecoderOptions options) : options_(options) {
  if (options_.label != DType::float32 && options_.label != DType::int64)
    fail(Code::invalid_argument, "labels of LIBSVM lines are decoded to float32 or int64, not to ",
         options_.label);
  if (options_.features < 0 || (options_.features == 0 && !options_.sparse))
    fail(Code::invalid_argument, "LIBSVM lines need the number of features to become dense, not ",
         options_.features, " (LibsvmDecoderOptions::features, or sparse)");
  if (!options_.sparse && options_.features > kMostDense)
    fail(
        Code::invalid_argument, "elements of ", options_.features,
        " dense features are larger than 1 GiB; decode them sparse (LibsvmDecoderOptions::sparse)");
}

std::vector<QueueComponent> LibsvmDecoder::components() const {
  const QueueComponent label{"label", {options_.label, {}}};
  if (!options_.sparse) return {{"features", {DType::float32, {options_.features}}}, label};
  return {{"indices", {DType::int64, {Shape::kUnknown}}},
          {"values", {DType::float32, {Shape::kUnknown}}},
          label};
}

void LibsvmDecoder::parse(Line& line) {
  indices_.clear();
  values_.clear();
  const auto label = line.next();
  if (label.empty()) line.refuse(label.data(), "the line holds no example");
  if (label.find(':') != std::string_view::npos)
    line.refuse(label.data(), "the label is missing in front of \"", label, '"');
  if (label.find(',') != std::string_view::npos)
    line.refuse(label.data(), "\"", label, "\" are several labels; one can be decoded");
  const auto finite = [&](std::string_view word, double number) {
    const auto value = static_cast<float>(number);
    if (!std::isfinite(value) && !options_.allow_non_finite)
      line.refuse(word.data(), '"', word, "\" is ", value,
                  " in float32, which training cannot use");
    return value;
  };
  if (options_.label == DType::int64) {
    const auto value = integer_of(label);
    if (!value) line.refuse(label.data(), "the label \"", label, "\" is not an int64");
    label_ = Tensor::scalar<std::int64_t>(*value);
  } else {
    const auto value = number_of(label);
    if (!value) line.refuse(label.data(), "the label \"", label, "\" is not a number");
    label_ = Tensor::scalar<float>(finite(label, *value));
  }

  const std::int64_t first = options_.zero_based ? 0 : 1;
  const auto last = options_.features > 0 ? options_.features - 1 + first
                                          : std::numeric_limits<std::int64_t>::max();
  for (auto word = line.next(); !word.empty(); word = line.next()) {
    const auto colon = word.find(':');
    if (colon == std::string_view::npos)
      line.refuse(word.data(), '"', word, "\" is not index:value");
    const auto key = word.substr(0, colon);
    const auto written = word.substr(colon + 1);
    if (key == "qid") {
      if (!options_.ignore_query_id)
        line.refuse(word.data(), '"', word,
                    "\" is a query, which has no place in a tensor "
                    "(LibsvmDecoderOptions::ignore_query_id)");
      continue;
    }
    const auto index = integer_of(key);
    if (!index) line.refuse(key.data(), '"', key, "\" is not an index");
    if (*index < first || *index > last)
      line.refuse(key.data(), "index ", *index, " is not one from ", first, " to ", last,
                  " (LibsvmDecoderOptions::zero_based, features)");
    if (!indices_.empty() && *index - first <= indices_.back())
      line.refuse(key.data(), "index ", *index, " stands behind ", indices_.back() + first,
                  "; indices must grow from left to right");
    const auto value = number_of(written);
    if (!value) line.refuse(written.data(), '"', written, "\" is not a value");
    indices_.push_back(*index - first);
    values_.push_back(finite(written, *value));
  }
}

void LibsvmDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  Line line(run, i);
  parse(line);
  if (options_.sparse) {
    const Shape shape{static_cast<std::int64_t>(indices_.size())};
    element.push_back(Tensor::of(shape, indices_));
    element.push_back(Tensor::of(shape, values_));
  } else {
    Tensor features(DType::float32, {options_.features});
    const auto to = features.write<float>();
    for (std::size_t k = 0; k < indices_.size(); ++k)
      to[static_cast<std::size_t>(indices_[k])] = values_[k];
    element.push_back(std::move(features));
  }
  element.push_back(label_);
}

bool holds_libsvm_example(std::string_view line) {
  const auto first = line.find_first_not_of(kBlanks);
  return first != std::string_view::npos && line[first] != '#';
}

}  // namespace troupe
