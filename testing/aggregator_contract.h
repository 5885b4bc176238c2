#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/testing/outcome.h"

// What every policy of aggregation promises (AggregationPolicy in
// actors/aggregation/policy.h), as checks that a policy of your own can be put through.
// Register it first. With GoogleTest:
//
//   #include <gtest/gtest.h>
//   #include <troupe/testing/aggregator_contract.h>
//
//   TROUPE_AGGREGATOR_CONTRACT(Median, [] {
//     register_my_policies();
//     return "median";
//   }());
//
// With any other framework: check_aggregator() returns what is wrong.

namespace troupe::contract {

/// A policy under test, as make_policy() takes it: "median", "median:trim=1".
using AggregatorSubject = std::string;

/// One promise.
struct AggregatorClause {
  std::string_view name;     ///< "GoesOnWhenReplicasLeave"
  std::string_view promise;  ///< one sentence
  /// Throws Error with what is wrong.
  void (*check)(const AggregatorSubject& policy) = nullptr;

  friend std::ostream& operator<<(std::ostream& out, const AggregatorClause& clause);
};

/// All of them.
const std::vector<AggregatorClause>& aggregator_clauses();

/// Puts a policy to one test. Exceptions that come out of it are failures.
Outcome check(const AggregatorClause& clause, const AggregatorSubject& policy);

/// Puts a policy to all tests: "GoesOnWhenReplicasLeave: ..." for each failure.
std::vector<std::string> check_aggregator(const AggregatorSubject& policy);

}  // namespace troupe::contract

/// A GoogleTest suite with a test for each promise, called
/// Aggregator/NameContract.Holds/GoesOnWhenReplicasLeave and so on. The second argument is
/// an expression that gives the policy's text, computed anew for each test.
#define TROUPE_AGGREGATOR_CONTRACT(Name, ...)                                                      \
  class Name##Contract : public ::testing::TestWithParam<::troupe::contract::AggregatorClause> {}; \
  TEST_P(Name##Contract, Holds) {                                                                  \
    const auto outcome = ::troupe::contract::check(GetParam(), __VA_ARGS__);                       \
    for (const auto& failure : outcome.failures)                                                   \
      ADD_FAILURE() << GetParam().promise << "\nbut " << failure;                                  \
    if (!outcome.skipped.empty()) GTEST_SKIP() << outcome.skipped;                                 \
  }                                                                                                \
  INSTANTIATE_TEST_SUITE_P(Aggregator, Name##Contract,                                             \
                           ::testing::ValuesIn(::troupe::contract::aggregator_clauses()),          \
                           [](const auto& info) { return std::string(info.param.name); })
