#include "troupe/actors/allreduce/ring_reduction.h"

#include <algorithm>
#include <cstring>

namespace troupe {
namespace {

struct Range {
  std::int64_t begin, end;
};

/// The elements of a chunk, counted over all tensors one after the other.
Range range_of(std::uint32_t chunk, std::uint32_t chunks, std::int64_t elements) {
  return {elements * chunk / chunks, elements * (chunk + 1) / chunks};
}

/// The part of it that lies in a tensor of so many elements, of which the first is number
/// `at`.
Range within(const Range& range, std::int64_t at, std::int64_t size) {
  const auto begin = std::clamp<std::int64_t>(range.begin - at, 0, size);
  return {begin, std::clamp<std::int64_t>(range.end - at, begin, size)};
}

}  // namespace

RingReduction::RingReduction(std::uint32_t index, std::uint32_t members, Send send)
    : index_(index), members_(members), send_(std::move(send)) {}

void RingReduction::begin(std::uint64_t round, Reduction own) {
  own_ = std::move(own);
  elements_ = 0;
  for (const auto& tensor : own_.sums) elements_ += tensor.size();
  chunks_.assign(members_, {});
  gathered_.assign(members_, {});
  has_.assign(members_, false);
  complete_ = 0;
  ReductionPart part;
  part.round = round;
  part.chunk = index_;
  part.sums = own_chunk(index_);
  part.hops = 1;
  if (index_ == 0) {
    part.givers = {0};
    part.gathered = own_.gathered;
    part.gathered.resize(1);
  }
  part.complete = members_ == 1;
  if (part.complete)
    keep(part);
  else
    pass_on(std::move(part));
}

TensorList RingReduction::own_chunk(std::uint32_t chunk) const {
  const auto range = range_of(chunk, members_, elements_);
  TensorList slices;
  std::int64_t at = 0;
  for (const auto& tensor : own_.sums) {
    const auto [begin, end] = within(range, at, tensor.size());
    slices.push_back(tensor.reshape({tensor.size()}).slice(begin, end));
    at += tensor.size();
  }
  return slices;
}

void RingReduction::take(ReductionPart part) {
  if (part.chunk >= members_ || part.givers.size() != part.gathered.size() || part.hops >= members_)
    fail(Code::invalid_argument, "member ", part.origin, " sends what is no part of a ring of ",
         members_);
  const auto own = own_chunk(part.chunk);
  if (part.complete) {
    (void)added(part.origin, part.sums, own);  // complains if it does not fit
    keep(part);
    if (++part.hops < members_) pass_on(std::move(part));
    return;
  }
  part.sums = added(part.origin, std::move(part.sums), own);
  if (part.chunk == 0) {
    part.givers.push_back(index_);
    part.gathered.push_back(own_.gathered.empty() ? TensorList{} : own_.gathered[0]);
  }
  if (++part.hops < members_) return pass_on(std::move(part));
  part.complete = true;
  part.hops = 1;
  keep(part);
  pass_on(std::move(part));
}

void RingReduction::pass_on(ReductionPart part) {
  part.origin = index_;
  send_((index_ + 1) % members_, std::move(part));
}

void RingReduction::keep(const ReductionPart& part) {
  if (has_[part.chunk])
    fail(Code::invalid_argument, "member ", part.origin, " sends chunk ", part.chunk, " twice");
  has_[part.chunk] = true;
  chunks_[part.chunk] = part.sums;
  for (std::size_t i = 0; i < part.givers.size(); ++i)
    gathered_.at(part.givers[i]) = part.gathered[i];
  ++complete_;
}

Reduction RingReduction::result() {
  Reduction all;
  all.gathered = std::move(gathered_);
  for (std::size_t i = 0; i < own_.sums.size(); ++i) {
    const auto& own = own_.sums[i];
    auto sum = Tensor::uninitialized(own.dtype(), own.shape());
    auto* out = static_cast<std::byte*>(sum.mutable_data());
    for (const auto& chunk : chunks_) {
      if (chunk[i].byte_size() > 0) std::memcpy(out, chunk[i].data(), chunk[i].byte_size());
      out += chunk[i].byte_size();
    }
    all.sums.push_back(std::move(sum));
  }
  own_ = {};
  chunks_.clear();
  return all;
}

}  // namespace troupe
