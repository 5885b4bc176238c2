#include "troupe/actors/allreduce/reduction.h"

#include "troupe/actors/aggregation/weighted_sum.h"
#include "troupe/actors/allreduce/ring_reduction.h"
#include "troupe/actors/allreduce/tree_reduction.h"

namespace troupe {

AllReduce parse_all_reduce(std::string_view name) {
  if (name == "ring") return AllReduce::ring;
  if (name == "tree") return AllReduce::tree;
  fail(Code::invalid_argument, "there is no all-reduce '", name, "': choose ring or tree");
}

std::string_view to_string(AllReduce kind) { return kind == AllReduce::ring ? "ring" : "tree"; }

std::unique_ptr<ReductionRound> make_reduction(AllReduce kind, std::uint32_t index,
                                               std::uint32_t members, ReductionRound::Send send) {
  if (kind == AllReduce::tree)
    return std::make_unique<TreeReduction>(index, members, std::move(send));
  return std::make_unique<RingReduction>(index, members, std::move(send));
}

TensorList added(std::uint32_t origin, TensorList a, const TensorList& b) {
  if (a.size() != b.size())
    fail(Code::invalid_argument, "member ", origin, " brings ", a.size(),
         " tensors to be added up, and this one ", b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || !(a[i].shape() == b[i].shape()))
      fail(Code::invalid_argument, "member ", origin, " brings ", a[i].dtype(), ' ', a[i].shape(),
           " as tensor ", i, ", and this one ", b[i].dtype(), ' ', b[i].shape());
    if (a[i].size() > 0) a[i] = weighted_sum({a[i], b[i]}, {1, 1}, serial());
  }
  return a;
}

}  // namespace troupe
