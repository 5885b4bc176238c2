#include "troupe/actors/parameters/row_table.h"

#include <algorithm>
#include <cstring>

#include "troupe/ops/error.h"

namespace troupe {

RowTable::RowTable(DType dtype, const Shape& shape, double value) : dtype_(dtype), shape_(shape) {
  lay_out();
  const auto same = Tensor::filled(dtype, block_shape(0), value);
  std::fill(blocks_.begin(), blocks_.end(), same);
  const auto last = block_shape(blocks_.size() - 1);
  if (!(last == same.shape())) blocks_.back() = same.slice(0, last[0]);
}

RowTable::RowTable(const Tensor& values) : dtype_(values.dtype()), shape_(values.shape()) {
  lay_out();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto first = first_row(i);
    blocks_[i] = values.slice(first, first + block_shape(i)[0]).clone();
  }
}

void RowTable::lay_out() {
  if (shape_.rank() == 0 || !shape_.known() || shape_.volume() == 0)
    fail(Code::invalid_argument, "a table needs rows with values, but has shape ", shape_);
  if (dtype_ == DType::string)
    fail(Code::invalid_argument, "a table holds numbers, but is of strings");
  row_bytes_ = static_cast<std::size_t>(shape_.volume() / rows()) * size_of(dtype_);
  while ((row_bytes_ << (shift_ + 1)) <= kBlockBytes) ++shift_;
  const auto in_block = std::int64_t{1} << shift_;
  blocks_.resize(static_cast<std::size_t>((rows() + in_block - 1) / in_block));
}

Shape RowTable::block_shape(std::size_t block) const {
  const auto in_block = std::int64_t{1} << shift_;
  return shape_.without_first().with_first(std::min(in_block, rows() - first_row(block)));
}

Tensor RowTable::read(const std::vector<std::int64_t>& ids) const {
  auto rows = Tensor::uninitialized(
      dtype_, shape_.without_first().with_first(static_cast<std::int64_t>(ids.size())));
  auto* to = rows.mutable_data();
  for (const auto id : ids) {
    std::memcpy(to, blocks_[block_of(id)].data() + place_in_block(id), row_bytes_);
    to += row_bytes_;
  }
  return rows;
}

void RowTable::assign(std::int64_t first, const Tensor& rows) {
  const auto end = first + rows.shape()[0];
  for (auto at = first; at < end;) {
    const auto block = block_of(at);
    const auto begin = first_row(block);
    const auto until = std::min(end, begin + blocks_[block].shape()[0]);
    if (at == begin && until == begin + blocks_[block].shape()[0] && at == first && until == end)
      blocks_[block] = rows;
    else
      std::memcpy(row(at), rows.data() + static_cast<std::size_t>(at - first) * row_bytes_,
                  static_cast<std::size_t>(until - at) * row_bytes_);
    at = until;
  }
}

}  // namespace troupe
