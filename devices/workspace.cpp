#include "troupe/devices/workspace.h"

namespace troupe {
namespace {

// Kernels may load a whole vector register at the end of their input.
constexpr std::size_t kSlack = 64;

}  // namespace

Workspace::Workspace(std::shared_ptr<const Program> program, std::vector<KernelPtr> kernels)
    : program_(std::move(program)),
      kernels_(std::move(kernels)),
      arena_(Buffer::allocate(program_->arena_bytes() + kSlack)),
      leaving_(program_->leaving().size()) {
  for (const auto& [dtype, shape] : program_->kept()) kept_.emplace_back(dtype, shape);
  for (const auto& [kind, index] : program_->operands()) {
    void* where = nullptr;
    switch (kind) {
      case Place::Kind::arena:
        where = arena_->data() + index;
        break;
      case Place::Kind::kept:
        where = kept_[index].mutable_data();
        break;
      case Place::Kind::constant:
        where = const_cast<std::byte*>(program_->constants()[index].data());  // only ever read
        break;
      case Place::Kind::feed:
        fed_.push_back({operands_.size(), index});
        break;
      case Place::Kind::leaving:
        left_.push_back({operands_.size(), index});
        break;
      case Place::Kind::nowhere:
        break;
    }
    operands_.push_back(where);
  }
  const auto& steps = program_->steps();
  for (std::size_t i = 0; i < steps.size(); ++i)
    calls_.push_back({kernels_[i].get(), operands_.data() + steps[i].inputs,
                      operands_.data() + steps[i].outputs});
}

void Workspace::begin(const TensorList& feeds, std::uint64_t seed) {
  feeds_ = &feeds;
  seed_ = seed;
  for (std::size_t i = 0; i < leaving_.size(); ++i) {
    const auto& [dtype, shape] = program_->leaving()[i];
    leaving_[i] = Tensor::uninitialized(dtype, shape);
  }
  for (const auto& [operand, index] : fed_)
    operands_[operand] = const_cast<std::byte*>(feeds[index].data());  // only ever read
  for (const auto& [operand, index] : left_) operands_[operand] = leaving_[index].mutable_data();
}

Tensor Workspace::value(const Result& result) const {
  const auto index = result.place.index;
  switch (result.place.kind) {
    case Place::Kind::feed:
      return (*feeds_)[index].reshape(result.shape);
    case Place::Kind::constant:
      return program_->constants()[index].reshape(result.shape);
    case Place::Kind::leaving:
      return leaving_[index].reshape(result.shape);
    default:
      return {};
  }
}

void Workspace::end() {
  feeds_ = nullptr;
  for (auto& tensor : leaving_) tensor = Tensor();
}

}  // namespace troupe
