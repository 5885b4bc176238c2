#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "troupe/ops/tensor.h"

namespace troupe {

/// A variable of many rows, in blocks of some of them. Copying a table shares its blocks,
/// and a block that is shared is copied when one of its rows is written: so a snapshot
/// costs as much as there are blocks, an update as much as there are rows in it, and
/// neither depends on the size of the table. Blocks that all have one value share one.
class RowTable {
 public:
  /// Bytes of a block; one row where a row has more. Blocks are what is copied when a
  /// snapshot is held, and each costs a few bytes of its own.
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10;

  /// Every value the same. Takes no more memory than one block until rows are written.
  /// Throws invalid_argument for a shape without rows.
  RowTable(DType dtype, const Shape& shape, double value);
  /// These values, copied.
  explicit RowTable(const Tensor& values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t rows() const { return shape_[0]; }
  std::size_t row_bytes() const { return row_bytes_; }
  std::uint64_t byte_size() const { return static_cast<std::uint64_t>(rows()) * row_bytes_; }

  /// The rows of these numbers, each in [0, rows()), copied: [ids, ...].
  Tensor read(const std::vector<std::int64_t>& ids) const;
  /// Row `id`, to be written; valid until the table is copied or written otherwise.
  std::byte* row(std::int64_t id) {
    return blocks_[block_of(id)].mutable_data() + place_in_block(id);
  }

  /// All rows, one block after the other. A block may be replaced by one of its shape.
  const TensorList& blocks() const { return blocks_; }
  TensorList& blocks() { return blocks_; }
  /// The number of the first row of a block.
  std::int64_t first_row(std::size_t block) const {
    return static_cast<std::int64_t>(block) << shift_;
  }
  std::size_t block_of(std::int64_t id) const { return static_cast<std::size_t>(id >> shift_); }

  /// Takes over consecutive rows from `first` on, which must all exist here. A block that
  /// fits exactly is shared.
  void assign(std::int64_t first, const Tensor& rows);

 private:
  Shape block_shape(std::size_t block) const;
  std::size_t place_in_block(std::int64_t id) const {
    return static_cast<std::size_t>(id & ((std::int64_t{1} << shift_) - 1)) * row_bytes_;
  }
  void lay_out();

  DType dtype_;
  Shape shape_;
  std::size_t row_bytes_ = 0;
  int shift_ = 0;  // rows of a block, as a power of two
  TensorList blocks_;
};

}  // namespace troupe
