#pragma once

#include <caf/detail/stringification_inspector.hpp>
#include <caf/error.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/sec.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/tensor.h"

namespace troupe {

/// Writes a tensor as dtype, extents and raw bytes; prints it as its type and
/// shape. Only for tensors that cross a process border inside a small message.
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Tensor& t) {
  auto extents = t.shape().vector();
  auto type = static_cast<std::uint8_t>(t.dtype());
  if constexpr (std::is_same_v<Inspector, caf::detail::stringification_inspector>) {
    auto name = std::string(to_string(t.dtype()));
    return f(caf::meta::type_name("Tensor"), name, extents);
  } else {
    std::string bytes;
    std::vector<std::string> strings;
    if constexpr (Inspector::reads_state) {
      if (t.dtype() == DType::string)
        strings.assign(t.read<std::string>().begin(), t.read<std::string>().end());
      else if (t.size() > 0)
        bytes.assign(reinterpret_cast<const char*>(t.data()), t.byte_size());
    }
    auto load = [&]() -> caf::error {
      try {
        std::int64_t volume = 1;
        for (const auto extent : extents)
          if (extent < 0 || __builtin_mul_overflow(volume, extent, &volume))
            return caf::sec::end_of_stream;
        const auto dtype = static_cast<DType>(type);
        if (dtype == DType::string) {
          if (static_cast<std::int64_t>(strings.size()) != volume) return caf::sec::end_of_stream;
          t = Tensor::of<std::string>(Shape(extents), strings);
          return caf::none;
        }
        if (bytes.size() / size_of(dtype) != static_cast<std::size_t>(volume) ||
            bytes.size() % size_of(dtype) != 0)
          return caf::sec::end_of_stream;
        t = Tensor::uninitialized(dtype, Shape(extents));
        if (!bytes.empty()) std::memcpy(t.mutable_data(), bytes.data(), bytes.size());
        return caf::none;
      } catch (const Error&) {
        return caf::sec::end_of_stream;
      }
    };
    return f(caf::meta::type_name("Tensor"), type, extents, bytes, strings,
             caf::meta::load_callback(load));
  }
}

}  // namespace troupe
