#pragma once

#include <cstdint>
#include <initializer_list>

#include "troupe/ops/tensor.h"

namespace troupe::test {

/// row<float>({1, 2, 3}): a tensor of one axis.
template <class T>
Tensor row(std::initializer_list<T> values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace troupe::test
