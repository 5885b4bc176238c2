#pragma once

#include <string_view>

#include "troupe/ops/dtype.h"
#include "troupe/ops/error.h"

namespace troupe {

/// Calls fn.operator()<T>() for the C++ type of a dtype:
///
///   dispatch_floating(x.dtype(), "tanh", [&]<class T>() { ... });
///
/// Throws unimplemented, naming `what`, for a dtype outside the group.
template <class Fn>
decltype(auto) dispatch_floating(DType type, std::string_view what, Fn&& fn) {
  switch (type) {
    case DType::float32:
      return fn.template operator()<float>();
    case DType::float64:
      return fn.template operator()<double>();
    default:
      fail(Code::unimplemented, what, ": no kernel for ", type, "; there are float32 and float64");
  }
}

template <class Fn>
decltype(auto) dispatch_numeric(DType type, std::string_view what, Fn&& fn) {
  switch (type) {
    case DType::float32:
      return fn.template operator()<float>();
    case DType::float64:
      return fn.template operator()<double>();
    case DType::int8:
      return fn.template operator()<std::int8_t>();
    case DType::int16:
      return fn.template operator()<std::int16_t>();
    case DType::int32:
      return fn.template operator()<std::int32_t>();
    case DType::int64:
      return fn.template operator()<std::int64_t>();
    case DType::uint8:
      return fn.template operator()<std::uint8_t>();
    default:
      fail(Code::unimplemented, what, ": no kernel for ", type,
           "; there are float32, float64, int8, int16, int32, int64 and uint8");
  }
}

template <class Fn>
decltype(auto) dispatch_numeric_or_bool(DType type, std::string_view what, Fn&& fn) {
  if (type == DType::boolean) return fn.template operator()<bool>();
  return dispatch_numeric(type, what, std::forward<Fn>(fn));
}

/// By the size of a value alone, for kernels that only move values.
template <class Fn>
decltype(auto) dispatch_by_size(DType type, std::string_view what, Fn&& fn) {
  if (type == DType::string) return fn.template operator()<std::string>();
  switch (size_of(type)) {
    case 1:
      return fn.template operator()<std::uint8_t>();
    case 2:
      return fn.template operator()<std::uint16_t>();
    case 4:
      return fn.template operator()<std::uint32_t>();
    case 8:
      return fn.template operator()<std::uint64_t>();
    default:
      fail(Code::unimplemented, what, ": no kernel for ", type);
  }
}

}  // namespace troupe
