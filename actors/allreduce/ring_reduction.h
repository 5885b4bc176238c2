#pragma once

#include <optional>
#include <vector>

#include "troupe/actors/allreduce/reduction.h"

namespace troupe {

/// The ring: chunk c sets out at member c, and every member adds its own to it and passes
/// it on. Where it is complete it sets out once more, to be handed to all. Chunk 0 takes
/// along what is gathered.
class RingReduction : public ReductionRound {
 public:
  RingReduction(std::uint32_t index, std::uint32_t members, Send send);
  void begin(std::uint64_t round, Reduction own) override;
  void take(ReductionPart part) override;
  bool done() const override { return complete_ == members_; }
  Reduction result() override;

 private:
  TensorList own_chunk(std::uint32_t chunk) const;
  void keep(const ReductionPart& part);
  void pass_on(ReductionPart part);

  const std::uint32_t index_, members_;
  const Send send_;
  Reduction own_;
  std::int64_t elements_ = 0;  // of all sums together
  std::vector<TensorList> chunks_;
  std::vector<TensorList> gathered_;
  std::vector<bool> has_;  // which chunks are complete, and here
  std::uint32_t complete_ = 0;
};

}  // namespace troupe
