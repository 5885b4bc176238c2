#pragma once

#include "troupe/ops/tensor.h"

namespace troupe {

namespace proto {
class Tensor;
}

/// How the values are written: as bytes, or, as far as decimal numbers can hold
/// them exactly, so that a person can read and change them.
enum class TensorForm { bytes, readable };

void encode_tensor(const Tensor& tensor, proto::Tensor& to, TensorForm form = TensorForm::bytes);

/// Throws data_loss when the values are not those that dtype and shape promise,
/// before anything is allocated for them; invalid_argument for an unknown dtype.
Tensor decode_tensor(const proto::Tensor& from);

}  // namespace troupe
