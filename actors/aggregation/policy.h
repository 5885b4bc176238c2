#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "troupe/messages/payloads.h"
#include "troupe/ops/parallel.h"
#include "troupe/ops/tensor.h"

namespace troupe {

/// A gradient set that every shard holds its part of.
struct SetInfo {
  std::uint32_t replica = 0;
  Version version = 0;      ///< the parameters that it was computed from
  double weight = 1;        ///< number of examples; 0 for none
  std::uint64_t order = 0;  ///< of its batch in the data
};

/// A replica that takes part.
struct MemberInfo {
  std::uint32_t replica = 0;
  std::uint64_t clock = 0;  ///< steps that it has done; one that joins has those of the slowest
  Version version = 0;      ///< of the parameters that it has
  bool computing = false;   ///< at work on its next step; otherwise it waits to go on
  bool late = false;        ///< has missed the deadline of a round, and is not to be waited for
};

/// How things stand between two updates.
struct RoundView {
  Version version = 0;              ///< updates so far
  std::size_t replicas = 1;         ///< that the run began with
  std::vector<SetInfo> sets;        ///< that wait to be part of an update, as they came
  std::vector<MemberInfo> members;  ///< by replica; those that have left or died are not here

  /// Replicas that are to be waited for.
  std::size_t live() const;
  /// The smallest clock among them; `fallback` when there are none.
  std::uint64_t slowest(std::uint64_t fallback) const;
  bool has_set(std::uint32_t replica) const;
};

/// What becomes of a set.
struct Admission {
  bool take = true;   ///< otherwise its replica is told that it is stale, and goes on
  double factor = 1;  ///< what the gradient is multiplied with
};

/// Which sets the next update is made of: positions in RoundView::sets.
using Round = std::vector<std::size_t>;

/// Decides when an update is made, of which gradient sets, and who may go on meanwhile.
///
/// One object decides for all shards (see coordinator.h), so that they agree; every
/// shard has another that only adds up (reduce). A policy is asked again after each event
/// (a set is complete, a replica joins, leaves or is late) until it has no more to say.
/// It sees nothing of gradients, and shards decide nothing: both may be anywhere.
class AggregationPolicy {
 public:
  virtual ~AggregationPolicy() = default;

  /// Whether a set may be part of an update, as things stand now. It is asked for each
  /// set that waits, after every update again, and of replicas that still compute:
  /// those whose set would be refused are told to stop early. All are taken by default.
  virtual Admission admit(const SetInfo& set, const RoundView& view) const;

  /// The sets of the next update, at least one; none while it has to wait.
  virtual std::optional<Round> round(const RoundView& view) const = 0;

  /// Whether a replica that waits may begin its next step. By default one whose set
  /// still waits may not.
  virtual bool may_go_on(const MemberInfo& member, const RoundView& view) const;

  /// What is applied of one variable: of the gradients of the sets of an update, in the
  /// order in which they are to be added, each with its share (they sum up to one if no
  /// factor changes that). The weighted sum by default. Called by the shards, for gradients
  /// that have the variable's shape; rows of sparse ones are always summed.
  virtual Tensor reduce(const TensorList& gradients, const std::vector<double>& shares,
                        IntraOp& intra) const;

  /// reduce() is the weighted sum, so that shards may add up while they apply, in one pass over
  /// the values, and do not call it. False unless a policy says so.
  virtual bool adds_up() const { return false; }

  /// Throws invalid_argument when a run that begins with so many replicas cannot have this
  /// policy.
  virtual void expect_fits(std::size_t replicas) const { (void)replicas; }
  /// Every update has one set of each replica, whatever the timing. Batches are then split
  /// over the replicas, and runs may be deterministic. Otherwise each takes whole batches.
  virtual bool whole_rounds() const { return false; }
  /// Each set is an update of its own.
  virtual bool single_sets() const { return false; }
  /// In no run is a set refused: each becomes part of an update, whatever the timing. Policies of
  /// groups of variables must say so, and have whole rounds or single sets, because the groups of
  /// a run must not disagree about a set.
  virtual bool takes_every_set() const { return false; }
  /// Steps that a replica makes on parameters of its own between two updates, which are
  /// then means of parameters; 0 for gradients.
  virtual std::uint32_t local_steps() const { return 0; }
};

}  // namespace troupe
