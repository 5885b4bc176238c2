#pragma once

#include "troupe/ops/simd/optimizer.h"
#include "troupe/ops/tensor.h"

namespace troupe {

/// A tensor that is about to be written as a whole: where it is when nobody else
/// holds it, else to a new buffer, so that who shares it keeps what it has.
template <class T>
class Writable {
 public:
  explicit Writable(Tensor& tensor)
      : tensor_(tensor),
        shared_(!tensor.unique()),
        written_(shared_ ? Tensor::uninitialized(tensor.dtype(), tensor.shape()) : Tensor()),
        place_{tensor.read<T>().data(), (shared_ ? written_ : tensor).template write<T>().data()} {}

  simd::InOut<T> place() const { return place_; }

  /// Makes the written values the tensor's.
  void commit() {
    if (shared_) tensor_ = std::move(written_);
  }

 private:
  Tensor& tensor_;
  bool shared_;
  Tensor written_;
  simd::InOut<T> place_;
};

}  // namespace troupe
