#include "troupe/actors/decoders/number_decoder.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "troupe/ops/error.h"

namespace troupe {

NumberDecoder::NumberDecoder(NumberDecoderOptions options) : options_(std::move(options)) {
  if (options_.dtype != DType::float32 && options_.dtype != DType::int64)
    fail(Code::invalid_argument, "numbers are decoded to float32 or int64, not to ",
         options_.dtype);
  if (!options_.shape.known())
    fail(Code::invalid_argument, "numbers are decoded to a shape with known extents, not to ",
         options_.shape);
  count_ = options_.shape.volume();
  fields_.merge_delimiters = options_.merge_delimiters;
  fields_.trailing_delimiter = options_.trailing_delimiter;
}

void NumberDecoder::expect_finite(const Tensor& row, const RecordRun& run, std::size_t i) {
  const auto values = row.read<float>();
  // All bits of the exponent set: an infinity or not a number. A loop over the
  // bits is one that the compiler vectorises.
  constexpr std::uint32_t kExponent = 0x7f800000u;
  std::uint32_t found = 0;
  for (const float x : values)
    found |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(x) & kExponent) == kExponent);
  if (found == 0) return;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!std::isfinite(values[k]))
      fail(Code::invalid_argument, run.place(i), ": field ", k, " is ", values[k],
           ", which training cannot use");
}

std::vector<QueueComponent> NumberDecoder::components() const {
  return {{options_.name, {options_.dtype, options_.shape}}};
}

void NumberDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  auto row = Tensor::uninitialized(options_.dtype, options_.shape);
  const auto result = options_.dtype == DType::float32
                          ? simd::decode_floats(run.begin(i), run.end(i), options_.delimiter,
                                                row.write<float>().data(), count_, fields_)
                          : simd::decode_ints(run.begin(i), run.end(i), options_.delimiter,
                                              row.write<std::int64_t>().data(), count_, fields_);
  if (!result.ok()) {
    const std::string_view line(run.begin(i), static_cast<std::size_t>(run.end(i) - run.begin(i)));
    const bool count =
        result.fault == simd::DecodeFault::too_few || result.fault == simd::DecodeFault::too_many;
    fail(Code::invalid_argument, run.place(i), ":", result.column, ": ",
         simd::explain(result, line, count_),
         count ? text(" (shape ", options_.shape, ")") : std::string());
  }
  if (options_.dtype == DType::float32 && !options_.allow_non_finite) expect_finite(row, run, i);
  element.push_back(std::move(row));
}

}  // namespace troupe
