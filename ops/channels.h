#pragma once

#include <algorithm>
#include <vector>

#include "troupe/ops/op.h"
#include "troupe/ops/parallel.h"
#include "troupe/ops/shape.h"

namespace troupe {

/// The values of a tensor as a matrix with a column for each channel (its last
/// axis). Where there are few channels, several rows stand side by side, so that
/// the loops over columns fill the vectors of the processor: 1000 rows of 5
/// channels are 76 rows of 65 columns and a tail of 12 rows, one row of 60.
class ChannelMatrix {
 public:
  explicit ChannelMatrix(const Shape& shape)
      : channels_(shape[-1]), pixels_(channels_ == 0 ? 0 : shape.volume() / channels_) {
    constexpr std::int64_t kColumns = 64;
    copies_ = std::max<std::int64_t>(1, kColumns / std::max<std::int64_t>(1, channels_));
  }

  std::int64_t channels() const { return channels_; }
  std::int64_t pixels() const { return pixels_; }  ///< values of each channel
  std::int64_t copies() const { return copies_; }  ///< of every channel in a row
  std::int64_t columns() const { return channels_ * copies_; }
  std::int64_t rows() const { return pixels_ / copies_; }
  std::int64_t tail() const { return pixels_ % copies_ * channels_; }  ///< columns of the last row

  /// One value per channel, repeated for every copy.
  template <class T>
  void repeat(const T* channel_values, T* column_values) const {
    for (std::int64_t i = 0; i < copies_; ++i)
      std::copy_n(channel_values, channels_, column_values + i * channels_);
  }

  /// Calls fn(offset, rows, columns) for blocks of rows, and for the tail. Every
  /// column belongs to the same channel in all of them.
  template <class Fn>
  void for_blocks(IntraOp& intra, double cycles_per_value, Fn fn) const {
    const auto each = cycles_per_value * static_cast<double>(columns());
    intra.parallel_for(
        rows(), each, [&](auto begin, auto end) { fn(begin * columns(), end - begin, columns()); });
    if (tail() > 0) fn(rows() * columns(), std::int64_t{1}, tail());
  }

 private:
  std::int64_t channels_;
  std::int64_t pixels_;
  std::int64_t copies_;
};

/// Sums over all values of each channel: in T over blocks of some thousand
/// values, whose sums are added in double. The blocks depend on nothing but the
/// shape, so neither do the bits of the sums on the number of threads.
template <class T>
class ChannelSums {
 public:
  /// `kinds` sums at the same time.
  ChannelSums(const ChannelMatrix& matrix, int kinds)
      : matrix_(matrix),
        kinds_(kinds),
        block_rows_(
            std::max<std::int64_t>(1, kBlock / std::max<std::int64_t>(1, matrix.columns()))),
        blocks_((matrix.rows() + block_rows_ - 1) / block_rows_),
        partial_(static_cast<std::size_t>((blocks_ + 1) * kinds * matrix.columns())) {}

  /// block(offset, rows, columns, sums) fills, for a block of rows, `columns`
  /// values of each kind; those of kind k begin at sums + k * matrix.columns().
  template <class Block>
  void run(IntraOp& intra, Block block) {
    const auto columns = matrix_.columns();
    const auto cycles = static_cast<double>(block_rows_ * columns) / 8;
    intra.parallel_for(blocks_, cycles, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) {
        const auto first = i * block_rows_;
        const auto rows = std::min(block_rows_, matrix_.rows() - first);
        block(first * columns, rows, columns, at(i));
      }
    });
    std::fill_n(at(blocks_), kinds_ * columns, T{0});
    if (matrix_.tail() > 0)
      block(matrix_.rows() * columns, std::int64_t{1}, matrix_.tail(), at(blocks_));
  }

  double total(int kind, std::int64_t channel) const {
    double sum = 0;
    for (std::int64_t i = 0; i <= blocks_; ++i)
      for (std::int64_t copy = 0; copy < matrix_.copies(); ++copy)
        sum += partial_[static_cast<std::size_t>((i * kinds_ + kind) * matrix_.columns() +
                                                 copy * matrix_.channels() + channel)];
    return sum;
  }

 private:
  static constexpr std::int64_t kBlock = 16384;

  T* at(std::int64_t block) {
    return partial_.data() + static_cast<std::size_t>(block * kinds_ * matrix_.columns());
  }

  ChannelMatrix matrix_;
  int kinds_;
  std::int64_t block_rows_;
  std::int64_t blocks_;
  std::vector<T> partial_;
};

/// Fails unless input 0 is floating, with channels as its last axis, and inputs
/// [first, last) are one value per channel.
void expect_channels(const InferContext& c, int first, int last);

/// Fails unless input i may have the dtype and shape of input 0.
void expect_same_shape(const InferContext& c, int i);

}  // namespace troupe
