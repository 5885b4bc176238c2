#include "troupe/ops/math/reduce_kernel.h"

#include <algorithm>
#include <vector>

#include "troupe/ops/math/reduce_plan.h"

namespace troupe {

ReducePlan::ReducePlan(const Shape& shape, AxisSet reduced) {
  struct Merged {
    Axis axis;
    bool reduced = false;
  };
  std::array<Merged, Shape::kMaxRank> merged{};  // innermost first
  int count = 0;
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const auto extent = shape[i];
    if (extent == 1) continue;
    if (count > 0 && merged[count - 1].reduced == reduced[i])
      merged[count - 1].axis.extent *= extent;
    else
      merged[count++] = {{extent, stride}, reduced[i]};
    stride *= extent;
  }
  if (count > 0) {
    inner_ = merged[0].axis.extent;
    inner_is_reduced_ = merged[0].reduced;
  }
  for (int i = count - 1; i > 0; --i) (merged[i].reduced ? reduced_ : kept_).add(merged[i].axis);
}

namespace {

constexpr std::int64_t kChunk = 512;            // results that are worked on together
constexpr std::int64_t kBlockValues = 1 << 16;  // worth a block of their own
constexpr std::int64_t kMostBlocks = 64;
constexpr double kCycles = 0.3;  // of one value

/// Results in pieces of at most kChunk, and the values that go into each in
/// blocks. A piece of a reduction along rows is a range of results; of one along
/// columns it is a range of columns of one combination of the kept axes.
class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const KernelInit& init, AxisSet reduced, const simd::Reduce& reduce, double scale)
      : plan_(init.inputs[0].shape, reduced),
        reduce_(reduce),
        scale_(scale),
        value_bytes_(static_cast<std::int64_t>(size_of(init.inputs[0].dtype))),
        results_(init.outputs[0].shape.volume()),
        rows_(plan_.inner_is_reduced()) {
    const auto values = init.inputs[0].shape.volume();
    cost = static_cast<double>(values) * kCycles;
    if (results_ == 0) return;
    depth_ = rows_ ? plan_.reduced() * plan_.inner() : plan_.reduced();
    pieces_per_row_ = rows_ ? 1 : (plan_.inner() + kChunk - 1) / kChunk;
    pieces_ = rows_ ? (results_ + kChunk - 1) / kChunk : plan_.kept() * pieces_per_row_;
    const auto values_per_piece = values / pieces_;
    blocks_ = std::clamp<std::int64_t>(std::min(values_per_piece / kBlockValues, depth_), 1,
                                       std::max<std::int64_t>(1, kMostBlocks / pieces_));
    piece_cost_ = cost / static_cast<double>(pieces_ * blocks_);
    if (blocks_ > 1)
      partial_.resize(static_cast<std::size_t>(blocks_ * results_ * reduce_.width / 8 + 1));
  }

  void run(const Run& run) override {
    if (results_ == 0) return;
    const auto* x = static_cast<const std::byte*>(run.inputs[0]);
    auto* y = static_cast<std::byte*>(run.outputs[0]);
    run.intra.parallel_for(pieces_ * blocks_, piece_cost_, [&](auto begin, auto end) {
      for (; begin < end; ++begin) {
        const Piece piece = piece_at(begin / blocks_);
        const auto block = begin % blocks_;
        if (blocks_ > 1) {
          reduce_block(piece, x, block, partial(block) + piece.first * reduce_.width);
        } else {
          double states[kChunk];
          reduce_block(piece, x, 0, states);
          reduce_.finish(states, y + piece.first * value_bytes_, piece.count, scale_);
        }
      }
    });
    if (blocks_ > 1) {
      for (std::int64_t block = 1; block < blocks_; ++block)
        reduce_.merge(partial(block), partial(0), results_);
      reduce_.finish(partial(0), y, results_, scale_);
    }
  }

 private:
  struct Piece {
    std::int64_t first = 0;  // of its results
    std::int64_t count = 0;
    std::int64_t offset = 0;  // of its first value, for columns
  };

  Piece piece_at(std::int64_t i) const {
    if (rows_) {
      const auto first = i * kChunk;
      return {first, std::min(kChunk, results_ - first), 0};
    }
    const auto column = i % pieces_per_row_ * kChunk;
    const auto kept = i / pieces_per_row_;
    return {kept * plan_.inner() + column, std::min(kChunk, plan_.inner() - column),
            plan_.kept_offset(kept) + column};
  }

  std::byte* partial(std::int64_t block) {
    return reinterpret_cast<std::byte*>(partial_.data()) + block * results_ * reduce_.width;
  }

  void reduce_block(const Piece& piece, const std::byte* x, std::int64_t block, void* state) const {
    const auto begin = depth_ * block / blocks_;
    const auto end = depth_ * (block + 1) / blocks_;
    reduce_.start(state, piece.count);
    if (!rows_) {
      plan_.for_each_run(begin, end, [&](auto offset, auto count, auto stride) {
        reduce_.columns(x + (piece.offset + offset) * value_bytes_, count, stride, piece.count,
                        state);
      });
      return;
    }
    for (std::int64_t i = 0; i < piece.count; ++i)
      reduce_row(x + plan_.kept_offset(piece.first + i) * value_bytes_, begin, end,
                 static_cast<std::byte*>(state) + i * reduce_.width);
  }

  void reduce_row(const std::byte* x, std::int64_t begin, std::int64_t end, void* state) const {
    const auto inner = plan_.inner();
    if (plan_.reduced() == 1) return reduce_.row(x + begin * value_bytes_, end - begin, state);
    while (begin < end) {
      const auto column = begin % inner;
      const auto count = std::min(inner - column, end - begin);
      plan_.for_each_run(begin / inner, begin / inner + 1, [&](auto offset, auto, auto) {
        reduce_.row(x + (offset + column) * value_bytes_, count, state);
      });
      begin += count;
    }
  }

  ReducePlan plan_;
  simd::Reduce reduce_;
  double scale_;
  std::int64_t value_bytes_;
  std::int64_t results_;
  bool rows_;
  std::int64_t depth_ = 0;  // values that go into one result
  std::int64_t pieces_per_row_ = 1;
  std::int64_t pieces_ = 1;
  std::int64_t blocks_ = 1;
  double piece_cost_ = 0;
  std::vector<double> partial_;  // states, by block and result
};

}  // namespace

KernelPtr reduce_kernel(const KernelInit& init, AxisSet reduced, const simd::Reduce& reduce,
                        double scale) {
  return std::make_unique<ReduceKernel>(init, reduced, reduce, scale);
}

}  // namespace troupe
