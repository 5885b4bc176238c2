#include "troupe/ops/optim/call_text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr int kDeepest = 4;  // calls within calls; more is a slip or an attack

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  CallText call() { return whole(parse(0)); }

  CallText::Argument call_or_number() {
    CallText::Argument argument;
    if (!try_number(argument.number)) argument.call.push_back(parse(0));
    return whole(std::move(argument));
  }

 private:
  template <class Result>
  Result whole(Result result) {
    skip_blanks();
    if (at_ != text_.size()) stop("the text should end here");
    return result;
  }

  CallText parse(int depth) {
    if (depth > kDeepest) stop("calls are nested too deep");
    CallText call;
    call.name = word();
    if (!accept('(')) return call;
    if (accept(')')) return call;
    do {
      call.arguments.push_back(argument(depth));
    } while (accept(','));
    if (!accept(')')) stop("',' or ')' should stand here");
    return call;
  }

  CallText::Argument argument(int depth) {
    CallText::Argument argument;
    if (try_number(argument.number)) return argument;
    const auto start = at_;
    auto name = word();
    if (accept('=')) {
      argument.key = std::move(name);
      if (try_number(argument.number)) return argument;
    } else {
      at_ = start;
    }
    argument.call.push_back(parse(depth + 1));
    return argument;
  }

  bool try_number(double& number) {
    skip_blanks();
    const auto* begin = text_.data() + at_;
    const auto* end = text_.data() + text_.size();
    if (begin != end && std::isalpha(static_cast<unsigned char>(*begin))) return false;  // inf, nan
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error != std::errc{}) return false;
    at_ += static_cast<std::size_t>(stop - begin);
    return true;
  }

  std::string word() {
    skip_blanks();
    const auto start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (at_ == start) stop("a name or a number should stand here");
    return std::string(text_.substr(start, at_ - start));
  }

  bool accept(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  [[noreturn]] void stop(std::string_view why) const {
    fail(Code::invalid_argument, "\"", text_, "\", character ", at_ + 1, ": ", why,
         "; a call looks like exponential(0.1, 200, 0.8, staircase)");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string list_names(std::span<const CallParameter> parameters) {
  std::string names;
  for (const auto& parameter : parameters) names += text(names.empty() ? "" : ", ", parameter.name);
  return names.empty() ? "none" : names;
}

}  // namespace

const double kRequired = std::numeric_limits<double>::quiet_NaN();

CallText parse_call(std::string_view text) { return Parser(text).call(); }
CallText::Argument parse_call_or_number(std::string_view text) {
  return Parser(text).call_or_number();
}

std::vector<double> bind(const CallText& call, std::span<const CallParameter> parameters) {
  std::vector<double> values;
  for (const auto& parameter : parameters) values.push_back(parameter.fallback);
  std::vector<char> given(parameters.size(), 0);

  std::size_t position = 0;
  for (const auto& argument : call.arguments) {
    std::size_t i = position;
    double value = argument.number;
    std::string key = argument.key;
    if (!argument.call.empty()) {
      const auto& word = argument.call[0];
      if (!key.empty() || !word.arguments.empty())
        fail(Code::invalid_argument, call.name, ": ", key.empty() ? word.name : key,
             " must be a number");
      key = word.name;
      value = 1;
    }
    if (!key.empty()) {
      i = 0;
      while (i < parameters.size() && parameters[i].name != key) ++i;
      if (i == parameters.size())
        fail(Code::invalid_argument, call.name, " has no parameter ", key,
             "; it has: ", list_names(parameters));
      if (!argument.call.empty() && !parameters[i].is_switch)
        fail(Code::invalid_argument, call.name, ": ", key, " needs a value: ", key, "=...");
    } else if (++position > parameters.size()) {
      fail(Code::invalid_argument, call.name, " takes ", parameters.size(),
           " numbers, but more are given; its parameters: ", list_names(parameters));
    }
    if (given[i]++)
      fail(Code::invalid_argument, call.name, ": ", parameters[i].name, " is given twice");
    values[i] = value;
  }

  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (std::isnan(values[i]) && !given[i])
      fail(Code::invalid_argument, call.name, " needs ", parameters[i].name,
           "; its parameters: ", list_names(parameters));
    expect_in_range(call.name, parameters[i], values[i]);
  }
  return values;
}

void expect_in_range(std::string_view call, const CallParameter& p, double value) {
  const bool low = p.open_low ? value > p.low : value >= p.low;
  const bool high = p.open_high ? value < p.high : value <= p.high;
  if (low && high && std::isfinite(value) && (!p.whole || value == std::floor(value))) return;
  std::string range = p.whole ? "a whole number " : "";
  if (std::isfinite(p.low)) range += text(p.open_low ? "above " : "at least ", number_text(p.low));
  if (std::isfinite(p.low) && std::isfinite(p.high)) range += " and ";
  if (std::isfinite(p.high))
    range += text(p.open_high ? "below " : "at most ", number_text(p.high));
  if (range.empty()) range = "finite";
  fail(Code::invalid_argument, call, ": ", p.name, " is ", number_text(value), ", but must be ",
       range);
}

std::string call_text(std::string_view name, std::span<const CallParameter> parameters,
                      std::span<const double> values) {
  std::string arguments;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_switch && values[i] == 0) continue;
    arguments += arguments.empty() ? "" : ", ";
    arguments += parameters[i].is_switch ? std::string(parameters[i].name) : number_text(values[i]);
  }
  return arguments.empty() ? std::string(name) : text(name, '(', arguments, ')');
}

std::string number_text(double value) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return {digits, end};
}

}  // namespace troupe
