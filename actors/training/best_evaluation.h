#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace troupe {

/// The name under which a checkpoint has BestEvaluation::str().
inline constexpr std::string_view kBestEvaluation = "best evaluation";

/// Which evaluation is the best so far, and for how many there was no better one.
class BestEvaluation {
 public:
  struct Rules {
    std::size_t value = 0;  ///< position of what is compared among an evaluation's values
    bool larger_is_better = false;
    double min_delta = 0;        ///< what is better by less is not better
    std::uint64_t patience = 0;  ///< evaluations that may be no better in a row; 0: any number
  };

  explicit BestEvaluation(Rules rules) : rules_(rules) {}

  /// Whether this one is the best so far. One that is not a number never is.
  bool take(std::uint64_t step, double value);
  /// There has been no better one for longer than the patience.
  bool exhausted() const { return rules_.patience > 0 && since_ >= rules_.patience; }
  std::size_t compared() const { return rules_.value; }
  bool any() const { return any_; }
  std::uint64_t step() const { return step_; }
  double value() const { return value_; }
  /// Evaluations since the best one.
  std::uint64_t since() const { return since_; }

  /// "step 300 value 0.25 since 2", for a checkpoint; empty when there is none.
  std::string str() const;
  /// Goes on from what str() gave. Throws data_loss.
  void restore(std::string_view text);

 private:
  Rules rules_;
  bool any_ = false;
  std::uint64_t step_ = 0;
  double value_ = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t since_ = 0;
};

}  // namespace troupe
