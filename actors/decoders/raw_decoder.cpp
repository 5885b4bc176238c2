#include "troupe/actors/decoders/raw_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

bool variable(const Shape& shape) { return shape.rank() > 0 && shape[0] == Shape::kUnknown; }

Shape with_rows(Shape shape, std::int64_t rows) {
  shape.set(0, rows);
  return shape;
}

void swap_bytes(std::byte* data, std::size_t bytes, std::size_t size) {
  for (std::size_t at = 0; at < bytes; at += size) std::reverse(data + at, data + at + size);
}

}  // namespace

RawDecoder::RawDecoder(RawDecoderOptions options) : options_(std::move(options)) {
  const auto& [dtype, shape, big_endian, name] = options_;
  if (dtype == DType::string) {
    if (shape.rank() != 0)
      fail(Code::invalid_argument, "a record as it is has shape [], not ", shape);
    return;
  }
  if (!is_numeric(dtype))
    fail(Code::invalid_argument, "raw bytes are decoded to numbers or to a string, not to ", dtype);
  const auto row = variable(shape) ? with_rows(shape, 1) : shape;
  if (!row.known() || row.volume() < 1)
    fail(Code::invalid_argument,
         "raw bytes are decoded to a shape of which only the first extent "
         "may be unknown and none is 0, not to ",
         shape);
  row_bytes_ = static_cast<std::size_t>(row.volume()) * size_of(dtype);
  if (row_bytes_ > kMaxRecordBytes)
    fail(Code::invalid_argument, "no record has the bytes of ", dtype, ' ', shape);
}

std::vector<QueueComponent> RawDecoder::components() const {
  return {{options_.name, {options_.dtype, options_.shape}}};
}

void RawDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  const auto bytes = static_cast<std::size_t>(run.end(i) - run.begin(i));
  if (options_.dtype == DType::string) {
    element.push_back(Tensor::scalar(std::string(run.begin(i), bytes)));
    return;
  }
  const bool rows = variable(options_.shape);
  if (rows ? bytes % row_bytes_ != 0 : bytes != row_bytes_)
    fail(Code::invalid_argument, run.place(i), ": has ", bytes, " bytes, but ", options_.dtype,
         " of shape ", options_.shape, " needs ", rows ? "a multiple of " : "", row_bytes_);
  auto tensor = Tensor::uninitialized(
      options_.dtype, rows
                          ? with_rows(options_.shape, static_cast<std::int64_t>(bytes / row_bytes_))
                          : options_.shape);
  if (bytes > 0) std::memcpy(tensor.mutable_data(), run.begin(i), bytes);
  if (options_.big_endian && bytes > 0)
    swap_bytes(tensor.mutable_data(), bytes, size_of(options_.dtype));
  element.push_back(std::move(tensor));
}

}  // namespace troupe
