#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace troupe {

/// The learning rate as a function of the step, which counts updates from 0.
/// A description: its text, such as "exponential(0.1, 200, 0.8, staircase)", is
/// what parse_schedule reads, and how a schedule is stored and sent.
struct Schedule {
  Schedule() : Schedule(0.01) {}
  Schedule(double rate) : values{rate} {}  // NOLINT: a number is a constant schedule

  /// The rate of the update that has `step` updates before it.
  double at(std::int64_t step) const;

  enum class Kind {
    constant,
    exponential,
    natural_exp,
    piecewise,
    polynomial,
    inverse_time,
    cosine
  };
  Kind kind = Kind::constant;
  std::vector<double> values;  ///< the arguments of the functions below, in their order
  std::int64_t warmup = 0;     ///< updates with a rising rate in front

  friend bool operator==(const Schedule&, const Schedule&) = default;
};
std::ostream& operator<<(std::ostream& out, const Schedule& schedule);

/// From "0.1" and from a call of one of the functions below with its arguments in
/// order or by name: "polynomial(0.1, 1000, end=0.001, cycle)",
/// "warmup(100, cosine(0.1, 5000))", "piecewise(0.1, 1000, 0.01, 2000, 0.001)".
/// Throws invalid_argument, saying what does not fit.
Schedule parse_schedule(std::string_view text);

namespace schedule {

Schedule constant(double rate);
/// rate * factor ^ (step / steps); a staircase takes whole powers only.
Schedule exponential(double rate, double steps, double factor, bool staircase = false);
/// rate * exp(-decay * step / steps)
Schedule natural_exp(double rate, double steps, double decay, bool staircase = false);
/// rates[i] while step <= boundaries[i], then the last; one more rate than boundaries.
Schedule piecewise(const std::vector<double>& boundaries, const std::vector<double>& rates);
/// From rate to end along (1 - step / steps) ^ power, and end from then on; a
/// cycle begins anew over twice, three times, ... as many steps.
Schedule polynomial(double rate, double steps, double end = 0.0001, double power = 1,
                    bool cycle = false);
/// rate / (1 + decay * step / steps)
Schedule inverse_time(double rate, double steps, double decay, bool staircase = false);
/// Half a cosine from rate to alpha * rate. Loshchilov and Hutter 2017.
Schedule cosine(double rate, double steps, double alpha = 0);
/// `steps` updates whose rate rises in equal steps to the one that `then` begins
/// with; after them `then` runs from its own step 0.
Schedule warmup(std::int64_t steps, Schedule then);

}  // namespace schedule
}  // namespace troupe
