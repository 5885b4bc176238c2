#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "troupe/messages/all_reduce.h"

namespace troupe {

enum class AllReduce {
  ring,  ///< every member sends 2 (n - 1) / n of the bytes, in 2 (n - 1) steps (Patarasuk and
         ///< Yuan 2009): for much data
  tree,  ///< up a binary tree and down again, in 2 log2(n) steps: for little data, many members
};

/// "ring" or "tree". Throws invalid_argument.
AllReduce parse_all_reduce(std::string_view name);
std::string_view to_string(AllReduce kind);

/// One member's part in one round after another: what it sends to whom, and what becomes
/// of what it gets. All members get the same bits: each place is added up once, in an order
/// that depends on the number of members alone.
class ReductionRound {
 public:
  using Send = std::function<void(std::uint32_t member, ReductionPart part)>;

  virtual ~ReductionRound() = default;
  /// Parts of this round may be taken from here on.
  virtual void begin(std::uint64_t round, Reduction own) = 0;
  /// Throws invalid_argument, naming its sender, when a part does not fit what is here.
  virtual void take(ReductionPart part) = 0;
  /// What all members brought, once it is here.
  virtual bool done() const = 0;
  virtual Reduction result() = 0;
};

std::unique_ptr<ReductionRound> make_reduction(AllReduce kind, std::uint32_t index,
                                               std::uint32_t members, ReductionRound::Send send);

/// a + b, place by place, of floating dtypes. Throws invalid_argument, naming member
/// `origin`, who brought `a`, when they do not fit each other.
TensorList added(std::uint32_t origin, TensorList a, const TensorList& b);

}  // namespace troupe
