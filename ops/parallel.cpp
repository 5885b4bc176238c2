#include "troupe/ops/parallel.h"

#include <algorithm>

namespace troupe {
namespace {

class Serial final : public IntraOp {
 public:
  int threads() const override { return 1; }
  void run(int shards, FunctionRef<void(int)> fn) override {
    for (int i = 0; i < shards; ++i) fn(i);
  }
};

// About 30 us at 3 GHz: what a parked thread costs to wake on a virtual machine.
constexpr double kCyclesWorthAThread = 100'000;

}  // namespace

int worthwhile_shards(double cycles, std::int64_t most) {
  const auto worth = static_cast<std::int64_t>(std::min(cycles / kCyclesWorthAThread, 1e6));
  return static_cast<int>(std::max<std::int64_t>(1, std::min(worth, most)));
}

void IntraOp::parallel_for(std::int64_t total, double cost,
                           FunctionRef<void(std::int64_t, std::int64_t)> fn) {
  if (total <= 0) return;
  const auto shards = worthwhile_shards(static_cast<double>(total) * cost,
                                        std::min<std::int64_t>(threads(), total));
  if (shards <= 1) return fn(0, total);
  run(shards, [&](int i) { fn(total * i / shards, total * (i + 1) / shards); });
}

IntraOp& serial() {
  static Serial only;
  return only;
}

}  // namespace troupe
