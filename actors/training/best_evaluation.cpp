#include "troupe/actors/training/best_evaluation.h"

#include <cmath>
#include <iomanip>
#include <sstream>

#include "troupe/ops/error.h"

namespace troupe {

bool BestEvaluation::take(std::uint64_t step, double value) {
  const bool better = rules_.larger_is_better ? value > value_ + rules_.min_delta
                                              : value < value_ - rules_.min_delta;
  if (std::isnan(value) || (any_ && !better)) {
    ++since_;
    return false;
  }
  any_ = true;
  step_ = step;
  value_ = value;
  since_ = 0;
  return true;
}

std::string BestEvaluation::str() const {
  if (!any_) return {};
  std::ostringstream out;
  out << "step " << step_ << " value " << std::setprecision(17) << value_ << " since " << since_;
  return out.str();
}

void BestEvaluation::restore(std::string_view text) {
  if (text.empty()) return;
  std::istringstream in{std::string(text)};
  std::string step;
  std::string value;
  std::string number;
  std::string since;
  auto read = *this;
  in >> step >> read.step_ >> value >> number >> since >> read.since_;
  char* end = nullptr;
  read.value_ = std::strtod(number.c_str(), &end);  // which reads infinities, too
  if (!in || step != "step" || value != "value" || since != "since" || *end != 0 ||
      std::isnan(read.value_))
    fail(Code::data_loss, "not the best evaluation of a run: \"", text, '"');
  read.any_ = true;
  *this = read;
}

}  // namespace troupe
