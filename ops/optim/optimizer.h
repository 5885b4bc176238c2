#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/parallel.h"
#include "troupe/ops/tensor.h"

namespace troupe {

/// Which rule changes the weights, and its hyper-parameters. The learning rate
/// is not among them: it comes with every step. Its text, such as
/// "adam(0.9, 0.999, 1e-08)", is what parse_optimizer reads, and how a
/// configuration is stored and sent.
struct OptimizerConfig {
  std::string kind = "sgd";
  std::map<std::string, double> values;  ///< by name; a switch is 0 or 1
  friend bool operator==(const OptimizerConfig&, const OptimizerConfig&) = default;
};
std::ostream& operator<<(std::ostream& out, const OptimizerConfig& config);

/// From "sgd", "momentum(0.8)", "nesterov(0.9)", "adagrad(0.1)",
/// "adam(beta2=0.99, lazy)", "rmsprop(0.9, 0.5, 1e-10)". What is not given has
/// the default of the functions below. Throws invalid_argument, listing what
/// there is, for an unknown rule or parameter and for a value out of range.
OptimizerConfig parse_optimizer(std::string_view text);

namespace optim {

/// v -= lr g
OptimizerConfig sgd();
/// a = momentum a + g; v -= lr a. With nesterov: v -= lr g + lr momentum a.
OptimizerConfig momentum(double momentum = 0.9, bool nesterov = false);
/// a += g^2, starting from `initial`; v -= lr g / sqrt(a). Duchi et al. 2011.
OptimizerConfig adagrad(double initial = 0.1);
/// Kingma and Ba 2015, in the form of the paper's section 2 ("epsilon hat"):
/// v -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(u) + epsilon).
/// A sparse gradient changes all rows, because their m and u decay, as in
/// TensorFlow; `lazy` changes only those that have a gradient.
OptimizerConfig adam(double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-8,
                     bool lazy = false);
/// u += (g^2 - u) (1 - decay), starting from 1; a = momentum a + lr g / sqrt(u + epsilon); v -= a.
OptimizerConfig rmsprop(double decay = 0.9, double momentum = 0, double epsilon = 1e-10);

}  // namespace optim

/// Where one row of a value and those of its slots stand.
struct RowPlace {
  std::byte* value = nullptr;
  std::array<std::byte*, 2> slots = {};  ///< as many as the rule has
};

/// The rule at work, on the values of one variable at a time: float32 or
/// float64. Holds no state; what a rule remembers of a variable are its slots.
class Optimizer {
 public:
  /// Throws invalid_argument for an unknown rule or a value out of range.
  explicit Optimizer(OptimizerConfig config = optim::sgd());

  const OptimizerConfig& config() const { return config_; }

  /// What the rule keeps for each variable: none for sgd, {"m", "v"} for adam.
  std::vector<std::string> slot_names() const;
  /// The slots of a variable that was never updated, in that order.
  TensorList initial_slots(DType dtype, const Shape& shape) const;

  /// One step. `step` counts the updates before this one, so it is 0 at first.
  ///
  /// A tensor that nobody else holds is changed where it is. One that is shared,
  /// such as the snapshot that a reader still computes with, is left alone: the
  /// new values go to a new buffer, in the same single pass.
  /// Throws invalid_argument when dtypes or shapes differ, and then changes nothing.
  void apply(Tensor& value, TensorList& slots, const Tensor& gradient, double learning_rate,
             std::int64_t step, IntraOp& intra = serial()) const;

  /// The same with the sum of weights[i] * gradients[i], which is added up in the same pass. At
  /// least one.
  void apply(Tensor& value, TensorList& slots, std::span<const Tensor> gradients,
             std::span<const double> weights, double learning_rate, std::int64_t step,
             IntraOp& intra = serial()) const;

  /// The same for a gradient that has only some rows: rows[i] belongs to row
  /// indices[i] of the value. Rows of one index are summed first; other rows keep
  /// their values and slots, but for adam without `lazy`.
  ///
  ///   value    [n, ...]
  ///   indices  [count]       int32 or int64
  ///   rows     [count, ...]
  ///
  /// Throws invalid_argument, naming index and position, for one outside [0, n).
  void apply_sparse(Tensor& value, TensorList& slots, const Tensor& indices, const Tensor& rows,
                    double learning_rate, std::int64_t step, IntraOp& intra = serial()) const;

  /// Whether a sparse gradient changes rows that it does not have: adam without `lazy`.
  bool changes_absent_rows() const;

  /// One step on rows wherever they stand, each once. Rows that are not here are not
  /// changed, whatever the rule.
  ///
  ///   rows   [places, ...]   float32 or float64; the gradients
  void apply_rows(std::span<const RowPlace> places, const Tensor& rows, double learning_rate,
                  std::int64_t step, IntraOp& intra = serial()) const;

 private:
  void expect_fitting(const Tensor& value, const TensorList& slots) const;

  OptimizerConfig config_;
};

}  // namespace troupe
