#include "troupe/ops/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <ostream>

#include "troupe/ops/error.h"
#include "troupe/ops/optim/call_text.h"

namespace troupe {
namespace {

using Kind = Schedule::Kind;

CallParameter number(std::string_view name, double fallback = kRequired) {
  return {.name = name, .fallback = fallback, .low = -HUGE_VAL, .high = HUGE_VAL};
}
CallParameter positive(std::string_view name, double fallback = kRequired) {
  return {.name = name, .fallback = fallback, .low = 0, .high = HUGE_VAL, .open_low = true};
}
CallParameter at_least_0(std::string_view name, double fallback = kRequired) {
  return {.name = name, .fallback = fallback, .low = 0, .high = HUGE_VAL};
}
CallParameter on_or_off(std::string_view name) {
  return {.name = name, .fallback = 0, .low = 0, .high = 1, .whole = true, .is_switch = true};
}

struct Form {
  Kind kind;
  std::string_view name;
  std::vector<CallParameter> parameters;  // empty for piecewise, which takes a list
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all{
      {Kind::constant, "constant", {at_least_0("rate")}},
      {Kind::exponential,
       "exponential",
       {at_least_0("rate"), positive("steps"), positive("factor"), on_or_off("staircase")}},
      {Kind::natural_exp,
       "natural_exp",
       {at_least_0("rate"), positive("steps"), number("decay"), on_or_off("staircase")}},
      {Kind::piecewise, "piecewise", {}},
      {Kind::polynomial,
       "polynomial",
       {at_least_0("rate"), positive("steps"), at_least_0("end", 0.0001), positive("power", 1),
        on_or_off("cycle")}},
      {Kind::inverse_time,
       "inverse_time",
       {at_least_0("rate"), positive("steps"), at_least_0("decay"), on_or_off("staircase")}},
      {Kind::cosine, "cosine", {at_least_0("rate"), positive("steps"), at_least_0("alpha", 0)}},
  };
  return all;
}

const Form& form_of(Kind kind) { return *std::ranges::find(forms(), kind, &Form::kind); }

const Form& form_of(std::string_view name) {
  const auto found = std::ranges::find(forms(), name, &Form::name);
  if (found != forms().end()) return *found;
  std::string known = "a number";
  for (const auto& form : forms()) known += text(", ", form.name);
  fail(Code::invalid_argument, "no schedule is called '", name, "'; there are: ", known,
       ", warmup");
}

/// Refuses values that are out of range.
Schedule checked(Kind kind, std::vector<double> values) {
  const auto& form = form_of(kind);
  if (kind == Kind::piecewise) {
    if (values.size() % 2 == 0)
      fail(Code::invalid_argument,
           "piecewise takes rates with a step between each two: "
           "piecewise(0.1, 1000, 0.01, 2000, 0.001), but ",
           values.size(), " numbers are given");
    for (std::size_t i = 0; i < values.size(); ++i)
      expect_in_range("piecewise", i % 2 ? number("a step") : at_least_0("a rate"), values[i]);
    for (std::size_t i = 3; i < values.size(); i += 2)
      if (values[i] <= values[i - 2])
        fail(Code::invalid_argument, "piecewise: the steps must grow, but ", number_text(values[i]),
             " follows ", number_text(values[i - 2]));
  }
  for (std::size_t i = 0; i < form.parameters.size(); ++i)
    expect_in_range(form.name, form.parameters[i], values[i]);
  Schedule schedule;
  schedule.kind = kind;
  schedule.values = std::move(values);
  return schedule;
}

Schedule from_call(const CallText& call) {
  if (call.name == "warmup") {
    if (call.arguments.size() != 2 || !call.arguments[0].call.empty())
      fail(Code::invalid_argument,
           "warmup takes a number of steps and a schedule: warmup(100, exponential(...))");
    const auto& then = call.arguments[1];
    const auto steps = call.arguments[0].number;
    expect_in_range(
        "warmup", {.name = "steps", .fallback = 0, .low = 0, .high = 0x1p53, .whole = true}, steps);
    return schedule::warmup(static_cast<std::int64_t>(steps), then.call.empty()
                                                                  ? schedule::constant(then.number)
                                                                  : from_call(then.call[0]));
  }
  const auto& form = form_of(call.name);
  if (form.kind != Kind::piecewise) return checked(form.kind, bind(call, form.parameters));
  std::vector<double> values;
  for (const auto& argument : call.arguments) {
    if (!argument.call.empty() || !argument.key.empty())
      fail(Code::invalid_argument, "piecewise takes numbers only");
    values.push_back(argument.number);
  }
  return checked(form.kind, std::move(values));
}

double piecewise_at(const std::vector<double>& values, double step) {
  std::size_t i = 0;
  while (i + 1 < values.size() && step > values[i + 1]) i += 2;
  return values[i];
}

}  // namespace

double Schedule::at(std::int64_t given) const {
  const auto before = std::max<std::int64_t>(given, 0);
  if (before < warmup) {
    auto then = *this;
    then.warmup = 0;
    return then.at(0) * static_cast<double>(before + 1) / static_cast<double>(warmup + 1);
  }
  const auto step = static_cast<double>(before - warmup);
  const auto rate = values[0];
  if (kind == Kind::constant) return rate;
  if (kind == Kind::piecewise) return piecewise_at(values, step);

  const auto steps = values[1];
  const auto passed = [&](double staircase) {
    return staircase != 0 ? std::floor(step / steps) : step / steps;
  };
  switch (kind) {
    case Kind::exponential:
      return rate * std::pow(values[2], passed(values[3]));
    case Kind::natural_exp:
      return rate * std::exp(-values[2] * passed(values[3]));
    case Kind::inverse_time:
      return rate / (1 + values[2] * passed(values[3]));
    case Kind::cosine: {
      const auto share = std::min(step, steps) / steps;
      const auto cosine = (1 + std::cos(std::numbers::pi * share)) / 2;
      return rate * ((1 - values[2]) * cosine + values[2]);
    }
    default: {
      const bool cycle = values[4] != 0;
      const auto length = cycle ? steps * std::max(1.0, std::ceil(step / steps)) : steps;
      const auto left = 1 - std::min(step, length) / length;
      return (rate - values[2]) * std::pow(left, values[3]) + values[2];
    }
  }
}

std::ostream& operator<<(std::ostream& out, const Schedule& schedule) {
  const auto& form = form_of(schedule.kind);
  std::string written;
  if (schedule.kind == Kind::constant) {
    written = number_text(schedule.values[0]);
  } else if (schedule.kind == Kind::piecewise) {
    for (const auto value : schedule.values)
      written += text(written.empty() ? "" : ", ", number_text(value));
    written = text("piecewise(", written, ")");
  } else {
    written = call_text(form.name, form.parameters, schedule.values);
  }
  if (schedule.warmup == 0) return out << written;
  return out << "warmup(" << schedule.warmup << ", " << written << ')';
}

Schedule parse_schedule(std::string_view text) {
  const auto parsed = parse_call_or_number(text);
  return parsed.call.empty() ? schedule::constant(parsed.number) : from_call(parsed.call[0]);
}

namespace schedule {

Schedule constant(double rate) { return checked(Kind::constant, {rate}); }
Schedule exponential(double rate, double steps, double factor, bool staircase) {
  return checked(Kind::exponential, {rate, steps, factor, staircase ? 1.0 : 0.0});
}
Schedule natural_exp(double rate, double steps, double decay, bool staircase) {
  return checked(Kind::natural_exp, {rate, steps, decay, staircase ? 1.0 : 0.0});
}
Schedule piecewise(const std::vector<double>& boundaries, const std::vector<double>& rates) {
  if (rates.size() != boundaries.size() + 1)
    fail(Code::invalid_argument, "piecewise: ", boundaries.size(), " boundaries need ",
         boundaries.size() + 1, " rates, but ", rates.size(), " are given");
  std::vector<double> values{rates[0]};
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    values.push_back(boundaries[i]);
    values.push_back(rates[i + 1]);
  }
  return checked(Kind::piecewise, std::move(values));
}
Schedule polynomial(double rate, double steps, double end, double power, bool cycle) {
  return checked(Kind::polynomial, {rate, steps, end, power, cycle ? 1.0 : 0.0});
}
Schedule inverse_time(double rate, double steps, double decay, bool staircase) {
  return checked(Kind::inverse_time, {rate, steps, decay, staircase ? 1.0 : 0.0});
}
Schedule cosine(double rate, double steps, double alpha) {
  return checked(Kind::cosine, {rate, steps, alpha});
}
Schedule warmup(std::int64_t steps, Schedule then) {
  if (steps < 0)
    fail(Code::invalid_argument, "warmup: steps is ", steps, ", but must be at least 0");
  if (then.warmup > 0)
    fail(Code::invalid_argument, "warmup: what follows has a warm-up of its own");
  then.warmup = steps;
  return then;
}

}  // namespace schedule
}  // namespace troupe
