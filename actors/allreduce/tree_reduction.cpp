#include "troupe/actors/allreduce/tree_reduction.h"

#include <algorithm>

namespace troupe {

TreeReduction::TreeReduction(std::uint32_t index, std::uint32_t members, Send send)
    : index_(index), members_(members), send_(std::move(send)) {
  for (const auto child : {2 * index + 1, 2 * index + 2})
    if (child < members) below_.push_back(child);
}

void TreeReduction::begin(std::uint64_t round, Reduction own) {
  round_ = round;
  own_ = std::move(own);
  from_below_.clear();
  sent_ = done_ = false;
  add_up();
}

void TreeReduction::take(ReductionPart part) {
  const auto strange = std::any_of(part.givers.begin(), part.givers.end(),
                                   [this](std::uint32_t giver) { return giver >= members_; });
  if (strange || part.givers.size() != part.gathered.size())
    fail(Code::invalid_argument, "member ", part.origin, " sends what is no part of a tree of ",
         members_);
  if (part.complete) {
    if (!sent_ || index_ == 0 || part.origin != (index_ - 1) / 2)
      fail(Code::invalid_argument, "member ", part.origin, " is not above member ", index_);
    (void)added(part.origin, part.sums, own_.sums);  // complains if it does not fit
    return hand_down(part);
  }
  if (std::find(below_.begin(), below_.end(), part.origin) == below_.end())
    fail(Code::invalid_argument, "member ", part.origin, " is not below member ", index_);
  const auto origin = part.origin;
  from_below_[origin] = std::move(part);
  add_up();
}

void TreeReduction::add_up() {
  if (sent_ || from_below_.size() < below_.size()) return;
  ReductionPart part;
  part.round = round_;
  part.sums = own_.sums;
  part.givers = {index_};
  part.gathered = own_.gathered;
  part.gathered.resize(1);
  for (auto& [origin, child] : from_below_) {
    part.sums = added(origin, std::move(child.sums), part.sums);
    part.givers.insert(part.givers.end(), child.givers.begin(), child.givers.end());
    part.gathered.insert(part.gathered.end(), child.gathered.begin(), child.gathered.end());
  }
  part.origin = index_;
  sent_ = true;
  from_below_.clear();
  if (index_ > 0) return send_((index_ - 1) / 2, std::move(part));
  part.complete = true;
  hand_down(part);
}

void TreeReduction::hand_down(const ReductionPart& part) {
  own_.sums = part.sums;
  own_.gathered.assign(members_, {});
  for (std::size_t i = 0; i < part.givers.size(); ++i)
    own_.gathered[part.givers[i]] = part.gathered[i];
  done_ = true;
  auto copy = part;
  copy.origin = index_;
  for (const auto child : below_) send_(child, copy);
}

Reduction TreeReduction::result() { return std::move(own_); }

}  // namespace troupe
