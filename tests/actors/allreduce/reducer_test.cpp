#include "troupe/actors/allreduce/reducer.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"

namespace troupe {
namespace {

using ::testing::HasSubstr;

class AReducer : public test::ActorTest, public ::testing::WithParamInterface<AllReduce> {
 protected:
  void gather(std::uint32_t members) {
    for (std::uint32_t i = 0; i < members; ++i)
      group.push_back(spawn(reducer, ReducerOptions{GetParam(), "gradients"}));
    join();
  }
  void join() {
    const std::vector<ReductionPort> ports(group.begin(), group.end());
    for (const auto& member : group) ask<caf::ok_atom>(member, join_atom_v, ports);
  }
  static Reduction number(float value) {
    Reduction brought;
    brought.sums = {Tensor::scalar(value)};
    return brought;
  }
  std::vector<Reducer> group;
};

TEST_P(AReducer, AnswersAllOnceTheLastHasBroughtIts) {
  gather(3);
  auto first = ask<Reduction>(group[0], run_atom_v, std::uint64_t{1}, number(1));
  auto second = ask<Reduction>(group[1], run_atom_v, std::uint64_t{1}, number(2));
  EXPECT_FALSE(first->value);
  auto third = ask<Reduction>(group[2], run_atom_v, std::uint64_t{1}, number(4));
  for (const auto& answer : {first, second, third}) EXPECT_EQ(answer->value->sums[0].item(), 7);
}

TEST_P(AReducer, KeepsWhatComesForARoundThatItHasNotBegun) {
  gather(2);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    auto fast = ask<Reduction>(group[1], run_atom_v, round, number(1));
    auto slow = ask<Reduction>(group[0], run_atom_v, round, number(10));
    EXPECT_EQ(fast->value->sums[0].item(), 11);
    EXPECT_EQ(slow->value->sums[0].item(), 11);
  }
}

TEST_P(AReducer, SaysWhoIsGone) {
  gather(3);
  auto waiting = ask<Reduction>(group[0], run_atom_v, std::uint64_t{1}, number(1));
  kill(caf::actor_cast<caf::actor>(group[2]));
  EXPECT_THAT(waiting->words(), HasSubstr("unavailable: gradients, member 0: member 2 is gone"));
  auto later = ask<Reduction>(group[0], run_atom_v, std::uint64_t{2}, number(1));
  EXPECT_THAT(later->words(), HasSubstr("member 2 is gone"));
}

TEST_P(AReducer, RefusesRoundsThatDoNotGrow) {
  gather(1);
  EXPECT_EQ(
      ask<Reduction>(group[0], run_atom_v, std::uint64_t{5}, number(3))->value->sums[0].item(), 3);
  auto again = ask<Reduction>(group[0], run_atom_v, std::uint64_t{5}, number(3));
  EXPECT_THAT(again->words(), HasSubstr("round 5 comes after round 5"));
}

TEST_P(AReducer, RefusesWorkBeforeItHasAGroup) {
  const auto lonely = spawn(reducer, ReducerOptions{GetParam(), "gradients"});
  auto early = ask<Reduction>(lonely, run_atom_v, std::uint64_t{1}, number(3));
  EXPECT_THAT(early->words(), HasSubstr("has joined no group"));
  gather(2);
  auto others = ask<caf::ok_atom>(lonely, join_atom_v,
                                  std::vector<ReductionPort>(group.begin(), group.end()));
  EXPECT_THAT(others->words(), HasSubstr("gradients is none of the 2 that are to join"));
}

TEST_P(AReducer, TakesPartInGroupsOfOtherSizes) {
  gather(2);
  const auto sum = [&](std::uint64_t round, const std::vector<float>& values) {
    std::vector<std::shared_ptr<test::Answer<Reduction>>> answers;
    for (std::size_t i = 0; i < values.size(); ++i)
      answers.push_back(ask<Reduction>(group[i], run_atom_v, round, number(values[i])));
    for (const auto& answer : answers)
      EXPECT_EQ(answer->value->sums[0].item(), answers[0]->value->sums[0].item());
    return answers[0]->value->sums[0].item();
  };
  EXPECT_EQ(sum(1, {1, 2}), 3);
  group.push_back(spawn(reducer, ReducerOptions{GetParam(), "gradients"}));
  std::swap(group[0], group[2]);  // it is the first one from now on
  join();
  EXPECT_EQ(sum(2, {1, 2, 4}), 7);
  group.erase(group.begin() + 1);
  join();
  EXPECT_EQ(sum(3, {1, 4}), 5);
  group.pop_back();
  join();
  EXPECT_EQ(sum(4, {8}), 8);
}

INSTANTIATE_TEST_SUITE_P(Kinds, AReducer, ::testing::Values(AllReduce::ring, AllReduce::tree),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace troupe
