#include "troupe/ops/array/indices.h"

#include "troupe/ops/op.h"

namespace troupe {

IndexReader::IndexReader(const KernelInit& init, int i, std::int64_t limit)
    : node_(described(init.node)),
      input_(i),
      dtype_(init.inputs[static_cast<std::size_t>(i)].dtype),
      shape_(init.inputs[static_cast<std::size_t>(i)].shape),
      limit_(limit),
      values_(static_cast<std::size_t>(shape_.volume())) {}

std::span<const std::int64_t> IndexReader::read(const Run& run) {
  if (dtype_ == DType::int32)
    copy(run.in<std::int32_t>(input_));
  else
    copy(run.in<std::int64_t>(input_));
  return values_;
}

template <class T>
void IndexReader::copy(const T* from) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] = from[i];
    if (values_[i] < 0 || values_[i] >= limit_) refuse(i);
  }
}

void IndexReader::refuse(std::size_t at) const {
  auto rest = static_cast<std::int64_t>(at);
  auto position = shape_;
  for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
    position.set(axis, rest % shape_[axis]);
    rest /= shape_[axis];
  }
  fail(Code::invalid_argument, node_, ": index ", values_[at], " at ", position, " is outside [0, ",
       limit_, ")");
}

std::string described(const Node& node) {
  return text("node '", node.name, "' (", node.op->name, ")");
}

}  // namespace troupe
