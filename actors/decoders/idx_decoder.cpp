#include "troupe/actors/decoders/idx_decoder.h"

#include <algorithm>
#include <cstring>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// A big-endian value.
template <class T>
T load(const char* bytes) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>(*bytes);
  } else {
    char swapped[sizeof(T)];
    std::reverse_copy(bytes, bytes + sizeof(T), swapped);
    T value;
    std::memcpy(&value, swapped, sizeof(T));
    return value;
  }
}

template <class From, class To, class Convert>
void convert_all(const char* from, std::span<To> to, Convert convert) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = convert(load<From>(from + i * sizeof(From)));
}

}  // namespace

IdxDecoder::IdxDecoder(const IdxHeader& header, IdxDecoderOptions options)
    : header_(header), options_(std::move(options)) {
  if (!options_.shape.known()) options_.shape = header_.item;
  if (options_.shape.volume() != header_.item.volume())
    fail(Code::invalid_argument, "items of shape ", header_.item, " cannot be seen as ",
         options_.shape);
  if (options_.dtype != DType::float32 && options_.dtype != DType::int64 &&
      options_.dtype != header_.dtype)
    fail(Code::invalid_argument, "IDX items are decoded to float32, int64 or their own ",
         header_.dtype, ", not to ", options_.dtype);
}

std::vector<QueueComponent> IdxDecoder::components() const {
  return {{options_.name, {options_.dtype, options_.shape}}};
}

void IdxDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  auto item = Tensor::uninitialized(options_.dtype, options_.shape);
  if (static_cast<std::uint64_t>(run.end(i) - run.begin(i)) != header_.item_bytes())
    fail(Code::data_loss, run.place(i), ": the item has ", run.end(i) - run.begin(i),
         " bytes, but ", header_.item_bytes(), " are needed");
  dispatch_numeric(header_.dtype, "IDX", [&]<class From>() {
    if (options_.dtype == DType::float32) {
      const auto scale = static_cast<float>(options_.scale);
      convert_all<From>(run.begin(i), item.write<float>(),
                        [scale](From value) { return static_cast<float>(value) * scale; });
    } else if (options_.dtype == DType::int64) {
      convert_all<From>(run.begin(i), item.write<std::int64_t>(),
                        [](From value) { return static_cast<std::int64_t>(value); });
    } else {
      convert_all<From>(run.begin(i), item.write<From>(), [](From value) { return value; });
    }
  });
  element.push_back(std::move(item));
}

}  // namespace troupe
