#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/actors/checkpoint/safetensors.h"
#include "troupe/messages/data_state.h"

namespace troupe {

/// A DataState on its way to disk: bytes (messages/proto/data_state.proto), and tensors, in
/// which all elements of a list stand together.
struct PackedDataState {
  std::string state;
  std::vector<NamedTensor> tensors;
};

PackedDataState pack(const DataState& state);

/// The inverse. `read` gives a tensor by its name. Throws data_loss when state and tensors are
/// not what pack() gave, and unimplemented when a newer Troupe wrote them.
DataState unpack(std::string_view state, const std::function<Tensor(const std::string&)>& read);

}  // namespace troupe
