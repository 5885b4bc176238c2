#pragma once

#include <cstdint>
#include <string>

#include "troupe/messages/payloads.h"

namespace troupe {

/// How the loss is scaled so that small gradients do not vanish in float16 (Micikevicius et
/// al. 2018). All are powers of two, so that no bits are lost; as PyTorch's GradScaler.
struct LossScaleOptions {
  double initial = 65536;
  double growth = 2;     ///< factor after `growth_interval` good steps
  double backoff = 0.5;  ///< factor after a step with a value that is not finite
  std::uint32_t growth_interval = 2000;
  friend bool operator==(const LossScaleOptions&, const LossScaleOptions&) = default;
};

/// The scale of one replica, as its gradients are applied or skipped.
class LossScale {
 public:
  explicit LossScale(const LossScaleOptions& options = {});

  double value() const { return value_; }
  /// How often gradients were applied since the scale was last changed.
  std::uint32_t good_steps() const { return good_; }
  /// Goes on from there. Throws invalid_argument for what no scale can be.
  void restore(double value, std::uint32_t good_steps);
  /// What became of the gradients that were computed with this scale. Throws
  /// invalid_argument, for `whom`, when they are not finite although the scale is 1.
  void note(SetFate fate, const std::string& whom);

 private:
  LossScaleOptions options_;
  double value_;
  std::uint32_t good_ = 0;  // steps since the last change
};

}  // namespace troupe
