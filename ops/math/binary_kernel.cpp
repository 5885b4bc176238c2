#include "troupe/ops/math/binary_kernel.h"

#include <cstring>
#include <string>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/math/broadcast_plan.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

// A bias of few channels is written out several times before the loop, so that
// rows are long enough to be worth a call.
constexpr std::int64_t kShortRow = 64;
constexpr std::int64_t kTile = 1024;

const std::byte* at(const void* values, std::int64_t bytes) {
  return static_cast<const std::byte*>(values) + bytes;
}

class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(const KernelInit& init, const BinaryFunction& function)
      : plan_(init.inputs[0].shape, init.inputs[1].shape),
        function_(function),
        in_(static_cast<std::int64_t>(size_of(init.inputs[0].dtype))),
        out_(static_cast<std::int64_t>(size_of(init.outputs[0].dtype))),
        right_count_(init.inputs[1].shape.volume()),
        where_(text("node '", init.node.name, "' (", init.node.op->name, "): ")) {
    cost = static_cast<double>(plan_.size()) * function.cycles;
    loop_ = plan_.left_is_value()    ? function.loops.left_value
            : plan_.right_is_value() ? function.loops.right_value
                                     : function.loops.rows;
    const bool repeated = plan_.left_is_repeated_row() || plan_.right_is_repeated_row();
    if (repeated && plan_.row() < kShortRow && plan_.size() >= 2 * kTile)
      tile_.resize(static_cast<std::size_t>(kTile / plan_.row() * plan_.row() * in_));
  }

  void run(const Run& run) override {
    if (function_.find_bad) refuse_bad(run.inputs[1]);
    const auto* left = run.inputs[0];
    const auto* right = run.inputs[1];
    auto* out = run.outputs[0];
    if (!tile_.empty()) {
      const bool left_repeats = plan_.left_is_repeated_row();
      fill_tile(left_repeats ? left : right);
      run.intra.parallel_for(plan_.size(), function_.cycles, [&](auto begin, auto end) {
        tiled(left_repeats ? nullptr : left, left_repeats ? right : nullptr, out, begin, end);
      });
      return;
    }
    run.intra.parallel_for(plan_.size(), function_.cycles, [&](auto begin, auto end) {
      plan_.for_each_row(begin, end, [&](auto l, auto r, auto o, auto count) {
        loop_(at(left, l * in_), at(right, r * in_), static_cast<std::byte*>(out) + o * out_,
              count);
      });
    });
  }

 private:
  void fill_tile(const void* row) {
    const auto bytes = static_cast<std::size_t>(plan_.row() * in_);
    for (std::size_t i = 0; i < tile_.size(); i += bytes) std::memcpy(&tile_[i], row, bytes);
  }

  /// The operand that is not given is the tile.
  void tiled(const void* left, const void* right, void* out, std::int64_t begin,
             std::int64_t end) const {
    const auto length = static_cast<std::int64_t>(tile_.size()) / in_;
    while (begin < end) {
      const auto phase = begin % length;
      const auto count = std::min(length - phase, end - begin);
      const auto* tile = tile_.data() + phase * in_;
      loop_(left ? at(left, begin * in_) : tile, right ? at(right, begin * in_) : tile,
            static_cast<std::byte*>(out) + begin * out_, count);
      begin += count;
    }
  }

  void refuse_bad(const void* right) const {
    const auto bad = function_.find_bad(right, right_count_);
    if (bad >= 0)
      fail(Code::invalid_argument, where_, function_.complaint, " (value ", bad,
           " of the right operand)");
  }

  BroadcastPlan plan_;
  BinaryFunction function_;
  simd::BinaryLoop loop_ = nullptr;
  std::int64_t in_;  // bytes of a value
  std::int64_t out_;
  std::int64_t right_count_;
  std::vector<std::byte> tile_;
  std::string where_;
};

}  // namespace

KernelPtr binary_kernel(const KernelInit& init, const BinaryFunction& function) {
  return std::make_unique<BinaryKernel>(init, function);
}

}  // namespace troupe
