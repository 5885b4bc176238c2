#include "troupe/actors/ensemble/combiner.h"

#include <gmock/gmock.h>

#include <cmath>

#include "support/error_matcher.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MemberAnswer answer(const std::string& member, double weight, Tensor output) {
  return {member, weight, {std::move(output)}};
}

TEST(MeanCombiner, WeighsTheMembers) {
  const auto mean = mean_combiner()({answer("a", 1, Tensor::of<float>({2}, {1, 2})),
                                     answer("b", 3, Tensor::of<float>({2}, {5, 10}))});
  EXPECT_THAT(mean.at(0).read<float>(), ElementsAre(4, 8));
}

TEST(MeanCombiner, CombinesEachOutputByItself) {
  MemberAnswer a{"a", 1, {Tensor::scalar(1.0), Tensor::scalar(10.0)}};
  MemberAnswer b{"b", 1, {Tensor::scalar(3.0), Tensor::scalar(30.0)}};
  const auto means = mean_combiner()({a, b});
  ASSERT_EQ(means.size(), 2u);
  EXPECT_EQ(means[0].item(), 2);
  EXPECT_EQ(means[1].item(), 20);
}

TEST(ProbabilityCombiner, DoesNotLetLargeLogitsOutweighOthers) {
  const auto shares =
      probability_combiner()({answer("large", 1, Tensor::of<float>({1, 2}, {1000, 0})),
                              answer("small", 1, Tensor::of<float>({1, 2}, {0, std::log(3.0f)}))});
  EXPECT_FLOAT_EQ(shares[0].read<float>()[0], (1 + 0.25f) / 2);
  EXPECT_FLOAT_EQ(shares[0].read<float>()[1], (0 + 0.75f) / 2);
}

TEST(VoteCombiner, SaysWhichShareOfTheVotesEachClassHas) {
  const auto shares =
      vote_combiner()({answer("a", 1, Tensor::of<float>({2, 3}, {9, 1, 1, 0, 0, 1})),
                       answer("b", 1, Tensor::of<float>({2, 3}, {0, 2, 1, 1, 1, 0})),
                       answer("c", 2, Tensor::of<float>({2, 3}, {0, 2, 1, 0, 0, 5}))});
  EXPECT_THAT(shares[0].read<float>(), ElementsAre(0.25, 0.75, 0, 0.25, 0, 0.75));
}

TEST(VoteCombiner, CountsWholeNumbersAsTheyAre) {
  const auto winners = vote_combiner()({answer("a", 1, Tensor::of<std::int64_t>({3}, {1, 2, 7})),
                                        answer("b", 1, Tensor::of<std::int64_t>({3}, {1, 3, 8})),
                                        answer("c", 1, Tensor::of<std::int64_t>({3}, {4, 3, 9}))});
  EXPECT_THAT(winners[0].read<std::int64_t>(), ElementsAre(1, 3, 7));
}

TEST(Combiners, SayWhatTheyCannotCombine) {
  const std::vector<MemberAnswer> scalars{answer("a", 1, Tensor::scalar(1.0f))};
  const std::vector<MemberAnswer> names{answer("a", 1, Tensor::scalar(std::string("cat")))};
  EXPECT_THAT(test::error_of([&] { probability_combiner()(scalars); }),
              test::IsError(Code::invalid_argument, HasSubstr("scalar")));
  EXPECT_THAT(test::error_of([&] { mean_combiner()(names); }),
              test::IsError(Code::unimplemented, HasSubstr("string")));
}

TEST(Combiners, AreFoundByName) {
  register_combiner(
      "first", [](const std::vector<MemberAnswer>& answers) { return answers.front().outputs; });
  const auto first = combiner_named("first")(
      {answer("a", 1, Tensor::scalar(1.0f)), answer("b", 1, Tensor::scalar(2.0f))});
  EXPECT_EQ(first[0].item(), 1);
  EXPECT_THAT(test::error_of([&] { combiner_named("median"); }),
              test::IsError(Code::not_found, HasSubstr("mean, probability")));
  EXPECT_THAT(test::error_of([&] { register_combiner("mean", mean_combiner()); }),
              test::IsError(Code::already_exists, HasSubstr("mean")));
}

}  // namespace
}  // namespace troupe
