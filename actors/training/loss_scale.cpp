#include "troupe/actors/training/loss_scale.h"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

bool power_of_two(double x) {
  int exponent = 0;
  return std::isfinite(x) && x > 0 && std::frexp(x, &exponent) == 0.5;
}

}  // namespace

LossScale::LossScale(const LossScaleOptions& options) : options_(options), value_(options.initial) {
  if (!power_of_two(options.initial) || options.initial < 1 || !power_of_two(options.growth) ||
      options.growth < 1 || !power_of_two(options.backoff) || options.backoff >= 1 ||
      options.growth_interval < 1)
    fail(Code::invalid_argument,
         "a loss scale begins with at least 1, grows by a factor of at least 1 after at least 1 "
         "step and shrinks by one below 1, all of them powers of two; not ",
         options.initial, ", ", options.growth, " after ", options.growth_interval, " and ",
         options.backoff);
}

void LossScale::restore(double value, std::uint32_t good_steps) {
  if (!power_of_two(value) || value < 1)
    fail(Code::invalid_argument, "a loss scale is a power of two from 1 on, not ", value);
  value_ = value;
  good_ = good_steps;
}

void LossScale::note(SetFate fate, const std::string& whom) {
  constexpr double kMost = 0x1p30;
  if (fate == SetFate::applied && ++good_ >= options_.growth_interval) {
    value_ = std::min(kMost, value_ * options_.growth);
    good_ = 0;
  }
  if (fate != SetFate::skipped) return;
  if (value_ <= 1)
    fail(Code::invalid_argument, whom,
         ": gradients are not finite although the loss is not scaled any more: try a smaller "
         "learning rate, or bfloat16, which has a wider range than float16");
  value_ = std::max(1.0, value_ * options_.backoff);
  good_ = 0;
}

}  // namespace troupe
