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

void IntraOp::parallel_for(std::int64_t total, double cost,
                           FunctionRef<void(std::int64_t, std::int64_t)> fn) {
  if (total <= 0) return;
  const double worth = static_cast<double>(total) * cost / kCyclesWorthAThread;
  const auto shards = std::min<std::int64_t>(
      {threads(), total,
       std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(worth, 1e6)))});
  if (shards <= 1) return fn(0, total);
  run(static_cast<int>(shards), [&](int i) { fn(total * i / shards, total * (i + 1) / shards); });
}

IntraOp& serial() {
  static Serial only;
  return only;
}

}  // namespace troupe
