#pragma once

#include <cstdint>
#include <vector>

#include "troupe/devices/lowering.h"

namespace troupe {

/// The nodes that have something to do, in an order that respects who reads whom
/// and who must run before whom. Constants, feeds and aliases are not steps.
struct StepOrder {
  std::vector<Node*> steps;
  std::vector<std::vector<int>> dependencies;  ///< by step: earlier steps, sorted
  std::vector<int> step_of;                    ///< by node, -1 for what is not a step
};

/// As close to the order of the user's graph as fusions allow.
StepOrder make_schedule(const LoweredGraph& lowered);

/// Which of two steps is sure to have ended before the other begins.
class Precedence {
 public:
  /// One step after the other, in the order of the schedule.
  static Precedence in_order() { return {}; }
  /// Only what dependencies say: everything else may run at the same time.
  static Precedence by_dependencies(const StepOrder& schedule);

  bool before(int a, int b) const {
    if (words_ == 0) return a < b;
    return ancestors_[static_cast<std::size_t>(b) * words_ + a / 64] >> (a % 64) & 1;
  }

 private:
  Precedence() = default;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> ancestors_;  // a row of bits for every step
};

}  // namespace troupe
