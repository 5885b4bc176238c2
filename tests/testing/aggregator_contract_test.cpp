#include "troupe/testing/aggregator_contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>

#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/aggregation/weighted_sum.h"

namespace troupe {
namespace {

using ::testing::Contains;
using ::testing::StartsWith;

// ---- our own keep it -------------------------------------------------------------------------

TROUPE_AGGREGATOR_CONTRACT(Sync, "sync");
TROUPE_AGGREGATOR_CONTRACT(SyncWithBackups, "sync:backups=1");
TROUPE_AGGREGATOR_CONTRACT(SyncWithQuorum, "sync:quorum=2");
TROUPE_AGGREGATOR_CONTRACT(SyncWithQuorumAndBackups, "sync:quorum=2,backups=1");
TROUPE_AGGREGATOR_CONTRACT(SyncWithSeveralSets, "sync:quorum=7");
TROUPE_AGGREGATOR_CONTRACT(Async, "async");
TROUPE_AGGREGATOR_CONTRACT(AsyncThatDrops, "async:staleness=drop:2");
TROUPE_AGGREGATOR_CONTRACT(AsyncThatWeighs, "async:staleness=weight");
TROUPE_AGGREGATOR_CONTRACT(SspOfZero, "ssp:0");
TROUPE_AGGREGATOR_CONTRACT(SspOfOne, "ssp:1");
TROUPE_AGGREGATOR_CONTRACT(SspOfThree, "ssp:3,staleness=drop:1");
TROUPE_AGGREGATOR_CONTRACT(Local, "local:4");

// ---- and it finds what is wrong --------------------------------------------------------------

/// Waits for as many sets as the run began with replicas, whoever has died.
struct Stubborn : AggregationPolicy {
  std::optional<Round> round(const RoundView& view) const override {
    if (view.sets.size() < view.replicas) return std::nullopt;
    Round all;
    for (std::size_t i = 0; i < view.sets.size(); ++i) all.push_back(i);
    return all;
  }
};

/// Holds everybody back for ever.
struct Paralysed : SyncPolicy {
  bool may_go_on(const MemberInfo& member, const RoundView& view) const override {
    return member.clock == 0 && SyncPolicy::may_go_on(member, view);
  }
};

/// Takes more than there is.
struct Greedy : AsyncPolicy {
  std::optional<Round> round(const RoundView& view) const override {
    if (view.sets.empty()) return std::nullopt;
    return Round{0, view.sets.size()};
  }
};

/// Refuses every set.
struct Picky : AsyncPolicy {
  Admission admit(const SetInfo&, const RoundView&) const override { return {false, 1}; }
};

/// Says that its rounds are whole.
struct Boastful : AsyncPolicy {
  bool whole_rounds() const override { return true; }
};

/// Remembers how often it was asked.
struct Moody : AsyncPolicy {
  static inline double asked = 0;
  Admission admit(const SetInfo&, const RoundView&) const override {
    return {true, 1 / (1 + asked++)};
  }
};

/// Sums up in the tensors that it is given.
struct Careless : SyncPolicy {
  Tensor reduce(const TensorList& gradients, const std::vector<double>& shares,
                IntraOp& intra) const override {
    auto* values = const_cast<std::byte*>(gradients[0].data());
    if (gradients[0].size() > 0) values[0] ^= std::byte{1};
    return weighted_sum(gradients, shares, intra);
  }
};

/// Makes a list of what it was given.
struct Shapeless : SyncPolicy {
  Tensor reduce(const TensorList& gradients, const std::vector<double>&, IntraOp&) const override {
    return gradients[0].reshape({-1});
  }
};

template <class Policy>
PolicyMaker maker() {
  return [](const OptionMap&) -> std::unique_ptr<AggregationPolicy> {
    return std::make_unique<Policy>();
  };
}

std::vector<std::string> failures_of(const std::string& policy) {
  static std::once_flag once;
  std::call_once(once, [] {
    register_policy("stubborn", maker<Stubborn>());
    register_policy("paralysed", maker<Paralysed>());
    register_policy("greedy", maker<Greedy>());
    register_policy("picky", maker<Picky>());
    register_policy("boastful", maker<Boastful>());
    register_policy("moody", maker<Moody>());
    register_policy("careless", maker<Careless>());
    register_policy("shapeless", maker<Shapeless>());
  });
  return contract::check_aggregator(policy);
}

TEST(AggregatorContract, FindsAPolicyThatWaitsForTheDead) {
  EXPECT_THAT(failures_of("stubborn"), Contains(StartsWith("GoesOnWhenReplicasLeave")));
}

TEST(AggregatorContract, FindsAPolicyThatLetsNobodyGoOn) {
  EXPECT_THAT(failures_of("paralysed"), Contains(StartsWith("NeverStandsStill")));
}

TEST(AggregatorContract, FindsAPolicyThatTakesSetsThatAreNotThere) {
  EXPECT_THAT(failures_of("greedy"), Contains(StartsWith("NamesSetsThatWait")));
}

TEST(AggregatorContract, FindsAPolicyThatTakesNothing) {
  EXPECT_THAT(failures_of("picky"), Contains(StartsWith("NeverStandsStill")));
}

TEST(AggregatorContract, FindsAPolicyThatSaysTheWrongThingAboutItself) {
  EXPECT_THAT(failures_of("boastful"), Contains(StartsWith("SaysWhatItsRoundsAre")));
}

TEST(AggregatorContract, FindsAPolicyThatDecidesByOtherThings) {
  EXPECT_THAT(failures_of("moody"), Contains(StartsWith("DecidesTheSameAgain")));
}

TEST(AggregatorContract, FindsArithmeticThatWritesToItsInputs) {
  EXPECT_THAT(failures_of("careless"), Contains(StartsWith("ReducesToTheShapeOfTheVariable")));
}

TEST(AggregatorContract, FindsArithmeticThatChangesTheShape) {
  EXPECT_THAT(failures_of("shapeless"), Contains(StartsWith("ReducesToTheShapeOfTheVariable")));
}

TEST(AggregatorContract, SaysThatThereIsNoSuchPolicy) {
  EXPECT_THAT(failures_of("nowhere"), Contains(StartsWith("NamesSetsThatWait")));
}

}  // namespace
}  // namespace troupe
