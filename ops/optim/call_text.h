#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A call as users write it on a command line, taken apart:
/// exponential(0.1, 200, factor=0.8, staircase). Arguments are numbers or calls,
/// and a bare word is a call without arguments.
struct CallText {
  struct Argument {
    std::string key;             ///< "factor", or empty
    double number = 0;           ///< when there is no call
    std::vector<CallText> call;  ///< one or none
  };
  std::string name;
  std::vector<Argument> arguments;
};

/// Throws invalid_argument, quoting the text and saying at which character it
/// stops making sense.
CallText parse_call(std::string_view text);
/// The same for a text that may also be a number.
CallText::Argument parse_call_or_number(std::string_view text);

/// A parameter that a call may give: by position, by name, or, for a switch, as a word.
struct CallParameter {
  std::string_view name;
  double fallback;  ///< the value when it is not given; kRequired when it must be
  double low;       ///< the smallest value allowed
  double high;      ///< the largest value allowed
  bool open_low = false;
  bool open_high = false;
  bool whole = false;      ///< whole numbers only
  bool is_switch = false;  ///< on or off
};
/// The fallback of a parameter that has none.
extern const double kRequired;

/// The value of every parameter, in their order. Throws invalid_argument for an
/// argument that is not among the parameters, is missing or out of its range.
std::vector<double> bind(const CallText& call, std::span<const CallParameter> parameters);

/// Throws invalid_argument when a value is out of its parameter's range: "adam: beta1 is 2, but
/// must be at least 0 and below 1".
void expect_in_range(std::string_view call, const CallParameter& parameter, double value);

/// adam(0.9, 0.999, 1e-08, lazy): numbers as short as they can be, switches that are on as words.
std::string call_text(std::string_view name, std::span<const CallParameter> parameters,
                      std::span<const double> values);

/// The shortest decimal that reads back as the same double.
std::string number_text(double value);

}  // namespace troupe
