#include <algorithm>

#include "troupe/ops/convolution_kernels.h"
#include "troupe/ops/memory.h"
#include "troupe/ops/simd/winograd.h"

// What a run needs beside its operands is borrowed from the pool of free blocks: it
// may be larger than the operands, and one layer after the other uses the same.

namespace troupe {
namespace {

using simd::WinogradSizes;

/// Forward; and the gradient by the images, which is the convolution of the gradient
/// by the outputs with the filter upside down.
WinogradSizes sizes_of(const Convolution& c) {
  return {.rows = {c.rows.input, c.rows.output, c.rows.before},
          .columns = {c.columns.input, c.columns.output, c.columns.before},
          .window = c.rows.window,
          .in = c.in,
          .out = c.out};
}
WinogradSizes backward_sizes_of(const Convolution& c) {
  const auto turned = [](const Slide& s) {
    return WinogradSizes::Axis{s.output, s.input, s.window - 1 - s.before};
  };
  return {.rows = turned(c.rows),
          .columns = turned(c.columns),
          .window = c.rows.window,
          .in = c.out,
          .out = c.in};
}

/// Memory for one run.
class Scratch {
 public:
  explicit Scratch(std::int64_t values)
      : buffer_(Buffer::allocate(static_cast<std::size_t>(values) * sizeof(float))),
        next_(reinterpret_cast<float*>(buffer_->data())) {}
  float* take(std::int64_t values) { return std::exchange(next_, next_ + values); }

 private:
  BufferRef buffer_;
  float* next_;
};

/// The tiles of a batch, shared out between threads.
struct Work {
  Work(const Convolution& c, const WinogradSizes& sizes, std::int64_t most)
      : tiles(c.batch * sizes.tiles()),
        shards(worthwhile_shards(c.cycles() / 2, std::min(tiles, most))) {}

  std::int64_t first(int shard) const { return tiles * shard / shards; }

  std::int64_t tiles;
  int shards;
};

/// to[last - k][o][i] = from[k][i][o] for the values k of a window, turned by half a turn.
void turn_filter(const Convolution& c, const float* from, float* to, IntraOp& intra) {
  const auto size = c.in * c.out;
  const auto last = c.rows.window * c.columns.window - 1;
  constexpr std::int64_t kSome = WinogradSizes::kChannels;
  intra.parallel_for(last + 1, static_cast<double>(size), [&](auto begin, auto end) {
    for (auto k = begin; k < end; ++k) {
      const auto* x = from + k * size;
      auto* y = to + (last - k) * size;
      for (std::int64_t o = 0; o < c.out; o += kSome)
        for (std::int64_t i = 0; i < c.in; ++i)
          for (std::int64_t j = o; j < o + kSome; ++j) y[j * c.in + i] = x[i * c.out + j];
    }
  });
}

class Convolve final : public Kernel {
 public:
  Convolve(const KernelInit& init, const Convolution& c, const ConvolutionEpilogue& epilogue,
           bool backward)
      : c_(c),
        sizes_(backward ? backward_sizes_of(c) : sizes_of(c)),
        epilogue_(epilogue),
        backward_(backward),
        work_(c, sizes_, init.threads > 1 ? 2 * init.threads : 1) {
    cost = c.cycles() / 2;
  }

  void run(const Run& run) override {
    const auto turned_size = backward_ ? c_.filter_size() : 0;
    Scratch scratch(sizes_.points_size() + turned_size + work_.shards * sizes_.scratch());
    const auto* filter = run.in<float>(1);
    if (backward_) {
      auto* turned = scratch.take(turned_size);
      turn_filter(c_, filter, turned, run.intra);
      filter = turned;
    }
    auto* points = scratch.take(sizes_.points_size());
    run.intra.parallel_for(sizes_.in, kCyclesPerFilter * static_cast<double>(sizes_.out),
                           [&](auto begin, auto end) {
                             TROUPE_PICK(winograd_filter)(sizes_, filter, points, begin, end);
                           });
    const auto* x = run.in<float>(backward_ ? 2 : 0);
    const auto* bias = epilogue_.bias ? run.in<float>(2) : nullptr;
    auto* memory = scratch.take(0);
    run.intra.run(work_.shards, [&](int i) {
      TROUPE_PICK(winograd_convolve)
      (sizes_, x, points, bias, epilogue_.relu, run.out<float>(), work_.first(i),
       work_.first(i + 1), memory + i * sizes_.scratch());
    });
  }

 private:
  static constexpr double kCyclesPerFilter = 20;  // of one input and one output channel

  const Convolution c_;
  const WinogradSizes sizes_;
  const ConvolutionEpilogue epilogue_;
  const bool backward_;
  const Work work_;
};

/// Each shard has a sum over its own tiles; they are added in the order of the
/// shards, so that the same number of threads gives the same bits.
class FilterGradient final : public Kernel {
 public:
  FilterGradient(const KernelInit& init, const Convolution& c)
      : sizes_(sizes_of(c)), work_(c, sizes_, init.threads) {
    cost = c.cycles() / 2;
  }

  void run(const Run& run) override {
    const auto size = sizes_.points_size();
    Scratch scratch(work_.shards * (size + sizes_.scratch()));
    auto* sums = scratch.take(work_.shards * size);
    auto* memory = scratch.take(0);
    run.intra.run(work_.shards, [&](int i) {
      std::fill_n(sums + i * size, size, 0.0f);
      TROUPE_PICK(winograd_gradient_points)
      (sizes_, run.in<float>(0), run.in<float>(2), sums + i * size, work_.first(i),
       work_.first(i + 1), memory + i * sizes_.scratch());
    });
    const auto cycles = 4.0 * static_cast<double>(work_.shards * WinogradSizes::kPoints);
    run.intra.parallel_for(
        sizes_.in, cycles * static_cast<double>(sizes_.out), [&](auto begin, auto end) {
          for (int i = 1; i < work_.shards; ++i) add_rows(sums + i * size, sums, begin, end);
          TROUPE_PICK(winograd_filter_gradient)(sizes_, sums, run.out<float>(), begin, end);
        });
  }

 private:
  /// Adds the values of input channels [begin, end) at all points.
  void add_rows(const float* from, float* to, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t point = 0; point < WinogradSizes::kPoints; ++point) {
      const auto first = point * sizes_.in * sizes_.out;
      for (auto i = first + begin * sizes_.out; i < first + end * sizes_.out; ++i) to[i] += from[i];
    }
  }

  const WinogradSizes sizes_;
  const Work work_;
};

}  // namespace

bool suits_winograd(const Convolution& c) {
  const auto plain = [](const Slide& s) { return s.stride == 1 && s.dilation == 1; };
  if (!plain(c.rows) || !plain(c.columns) || c.groups != 1) return false;
  if (c.rows.window != c.columns.window || (c.rows.window != 3 && c.rows.window != 5)) return false;
  const auto fits = [](std::int64_t channels) {
    return channels % WinogradSizes::kChannels == 0 && 32 <= channels && channels <= 256;
  };
  // Evaluating the filter must be worth it.
  return fits(c.in) && fits(c.out) && 4 * c.batch * sizes_of(c).tiles() >= std::max(c.in, c.out);
}

KernelPtr winograd_convolution(const KernelInit& init, const Convolution& c,
                               const ConvolutionEpilogue& epilogue) {
  return std::make_unique<Convolve>(init, c, epilogue, false);
}

KernelPtr winograd_convolution_input_gradient(const KernelInit& init, const Convolution& c) {
  return std::make_unique<Convolve>(init, c, ConvolutionEpilogue{}, true);
}

KernelPtr winograd_convolution_filter_gradient(const KernelInit& init, const Convolution& c) {
  return std::make_unique<FilterGradient>(init, c);
}

}  // namespace troupe
