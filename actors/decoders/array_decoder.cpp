#include "troupe/actors/decoders/array_decoder.h"

#include <cstring>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// Calls fn.operator()<T>() for the C++ type of a dtype that an array can have.
template <class Fn>
void dispatch(DType type, Fn&& fn) {
  if (type == DType::float16)
    fn.template operator()<float16>();
  else
    dispatch_numeric_or_bool(type, "array items", fn);
}

template <class T>
T load(const char* bytes) {
  if constexpr (std::is_same_v<T, bool>) {
    return *bytes != 0;  // any byte may stand in a file, but not in a bool
  } else {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }
}

template <class From, class To, class Convert>
void convert_all(const char* from, std::span<To> to, Convert convert) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = convert(load<From>(from + i * sizeof(From)));
}

template <class From>
float as_float(From value) {
  if constexpr (std::is_same_v<From, float16>)
    return to_float(value);
  else
    return static_cast<float>(value);
}

}  // namespace

ArrayDecoder::ArrayDecoder(const ArrayHeader& header, ArrayDecoderOptions options)
    : header_(header), options_(std::move(options)), dtype_(options_.dtype.value_or(header.dtype)) {
  if (!options_.shape.known()) options_.shape = header_.item;
  if (options_.shape.volume() != header_.item.volume())
    fail(Code::invalid_argument, "items of shape ", header_.item, " cannot be seen as ",
         options_.shape);
  const bool whole = is_integer(header_.dtype) || header_.dtype == DType::boolean;
  if (dtype_ != header_.dtype && dtype_ != DType::float32 && !(dtype_ == DType::int64 && whole))
    fail(Code::invalid_argument, "items of ", header_.dtype, " are decoded to their own dtype",
         whole ? ", float32 or int64, not to " : " or float32, not to ", dtype_);
  if (options_.scale != 1 && dtype_ != DType::float32)
    fail(Code::invalid_argument, "only float32 values are scaled, not ", dtype_);
}

std::vector<QueueComponent> ArrayDecoder::components() const {
  return {{options_.name, {dtype_, options_.shape}}};
}

void ArrayDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  auto item = Tensor::uninitialized(dtype_, options_.shape);
  if (static_cast<std::uint64_t>(run.end(i) - run.begin(i)) != header_.item_bytes())
    fail(Code::data_loss, run.place(i), ": the item has ", run.end(i) - run.begin(i),
         " bytes, but ", header_.item_bytes(), " are needed");
  dispatch(header_.dtype, [&]<class From>() {
    if (dtype_ == header_.dtype && options_.scale == 1) {
      if constexpr (std::is_same_v<From, bool>)
        convert_all<From>(run.begin(i), item.write<From>(), [](From value) { return value; });
      else
        std::memcpy(item.mutable_data(), run.begin(i), item.byte_size());
    } else if (dtype_ == DType::float32) {
      const auto scale = static_cast<float>(options_.scale);
      convert_all<From>(run.begin(i), item.write<float>(),
                        [scale](From value) { return as_float(value) * scale; });
    } else if constexpr (!std::is_floating_point_v<From> && !std::is_same_v<From, float16>) {
      convert_all<From>(run.begin(i), item.write<std::int64_t>(),
                        [](From value) { return static_cast<std::int64_t>(value); });
    }
  });
  element.push_back(std::move(item));
}

}  // namespace troupe
