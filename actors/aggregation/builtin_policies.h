#pragma once

#include <string_view>
#include <typeinfo>

#include "troupe/actors/aggregation/policy.h"

namespace troupe {

/// What is done about gradients of parameters that have changed since. The staleness of a
/// set is the number of updates that were made since its replica got its parameters.
struct StalenessRule {
  enum class Kind : std::uint8_t {
    keep,    ///< nothing
    drop,    ///< those above `most` are refused; the replica computes its batch again
    weight,  ///< multiplied with 1 / (1 + staleness)
  };
  Kind kind = Kind::keep;
  std::uint64_t most = 0;  ///< for drop

  Admission admit(std::uint64_t staleness) const;
};

/// "keep", "drop:8", "weight". Throws invalid_argument.
StalenessRule parse_staleness(std::string_view text);

/// How many sets a synchronous update needs.
struct SyncRules {
  /// Sets of an update (TensorFlow's replicas_to_aggregate); 0 for one of each live replica
  /// but `backups`. When it is more than the replicas that the run began with, replicas
  /// bring several, each of another batch. Otherwise no more are waited for than are live.
  std::size_t quorum = 0;
  /// Replicas that are not waited for: the last ones of each update. With a quorum it only
  /// says that there are so many more than that.
  std::size_t backups = 0;
};

/// One update with the mean of the sets of a round, all computed from the same
/// parameters. A set that comes later is refused.
class SyncPolicy : public AggregationPolicy {
 public:
  explicit SyncPolicy(SyncRules rules = {}) : rules_(rules) {}

  Admission admit(const SetInfo& set, const RoundView& view) const override;
  std::optional<Round> round(const RoundView& view) const override;
  bool may_go_on(const MemberInfo& member, const RoundView& view) const override;
  void expect_fits(std::size_t replicas) const override;
  // One that is derived from these may have a reduce() of its own.
  bool adds_up() const override { return typeid(*this) == typeid(SyncPolicy); }
  bool whole_rounds() const override { return rules_.quorum == 0 && rules_.backups == 0; }
  bool takes_every_set() const override { return whole_rounds(); }

 private:
  /// Replicas bring several sets to an update.
  bool several(const RoundView& view) const { return rules_.quorum > view.replicas; }

  SyncRules rules_;
};

/// Every set is an update, and its replica goes on at once.
class AsyncPolicy : public AggregationPolicy {
 public:
  explicit AsyncPolicy(StalenessRule rule = {}) : rule_(rule) {}

  Admission admit(const SetInfo& set, const RoundView& view) const override;
  std::optional<Round> round(const RoundView& view) const override;
  bool may_go_on(const MemberInfo&, const RoundView&) const override { return true; }
  bool adds_up() const override { return typeid(*this) == typeid(AsyncPolicy); }
  bool single_sets() const override { return true; }
  bool takes_every_set() const override { return rule_.kind != StalenessRule::Kind::drop; }

 private:
  StalenessRule rule_;
};

/// Stale synchronous parallel (Ho et al. 2013): asynchronous, but a replica that is more
/// than `bound` steps ahead of the slowest waits for it.
///
/// With a bound of 0 nobody goes on before everybody's step is in, which is what
/// synchronous means: make_policy("ssp:0") is a SyncPolicy.
class SspPolicy : public AsyncPolicy {
 public:
  explicit SspPolicy(std::uint64_t bound, StalenessRule rule = {})
      : AsyncPolicy(rule), bound_(bound) {}

  bool may_go_on(const MemberInfo& member, const RoundView& view) const override;
  bool adds_up() const override { return typeid(*this) == typeid(SspPolicy); }

 private:
  std::uint64_t bound_;
};

/// Local SGD: each replica makes `steps` updates of its own, then the parameters and the
/// optimizer's slots become the means over all replicas, weighted by examples.
class LocalPolicy : public SyncPolicy {
 public:
  explicit LocalPolicy(std::uint32_t steps) : steps_(steps) {}

  std::uint32_t local_steps() const override { return steps_; }

 private:
  std::uint32_t steps_;
};

}  // namespace troupe
