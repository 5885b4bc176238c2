#pragma once

#include <map>
#include <vector>

#include "troupe/actors/allreduce/reduction.h"

namespace troupe {

/// The tree: member 0 is the root, and those below member i are 2 i + 1 and 2 i + 2. Each
/// waits for those below it, adds its own and sends the sum up; the root's goes down again.
class TreeReduction : public ReductionRound {
 public:
  TreeReduction(std::uint32_t index, std::uint32_t members, Send send);
  void begin(std::uint64_t round, Reduction own) override;
  void take(ReductionPart part) override;
  bool done() const override { return done_; }
  Reduction result() override;

 private:
  void add_up();
  void hand_down(const ReductionPart& part);

  const std::uint32_t index_, members_;
  const Send send_;
  std::vector<std::uint32_t> below_;
  std::uint64_t round_ = 0;
  Reduction own_;
  std::map<std::uint32_t, ReductionPart> from_below_;
  bool sent_ = false;
  bool done_ = false;
};

}  // namespace troupe
