#include "troupe/actors/allreduce/reduction.h"

#include <gmock/gmock.h>

#include <deque>

#include "support/error_matcher.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;

/// A group whose parts wait in one list, and are taken in an order that a seed tells.
class Group {
 public:
  Group(AllReduce kind, std::uint32_t members) {
    for (std::uint32_t i = 0; i < members; ++i)
      members_.push_back(make_reduction(kind, i, members, [this](auto to, ReductionPart part) {
        bytes_ += bytes_of(part);
        parts_.emplace_back(to, std::move(part));
      }));
  }
  ReductionRound& operator[](std::uint32_t i) { return *members_.at(i); }
  std::uint64_t bytes() const { return bytes_; }

  std::vector<Reduction> run(std::vector<Reduction> brought, std::uint64_t seed) {
    RandomStream random(seed);
    for (std::uint32_t i = 0; i < members_.size(); ++i) members_[i]->begin(1, brought[i]);
    while (!parts_.empty()) {
      // Parts from one member to another stay in their order.
      const auto at = static_cast<std::size_t>(random.uniform() * parts_.size());
      const auto to = parts_[at].first;
      const auto origin = parts_[at].second.origin;
      const auto first = std::find_if(parts_.begin(), parts_.end(), [&](const auto& p) {
        return p.first == to && p.second.origin == origin;
      });
      auto part = std::move(first->second);
      parts_.erase(first);
      members_[to]->take(std::move(part));
    }
    std::vector<Reduction> results;
    for (auto& member : members_) {
      EXPECT_TRUE(member->done());
      results.push_back(member->result());
    }
    return results;
  }

 private:
  static std::uint64_t bytes_of(const ReductionPart& part) {
    std::uint64_t bytes = 0;
    for (const auto& tensor : part.sums) bytes += tensor.byte_size();
    return bytes;
  }
  std::vector<std::unique_ptr<ReductionRound>> members_;
  std::deque<std::pair<std::uint32_t, ReductionPart>> parts_;
  std::uint64_t bytes_ = 0;
};

/// What member i of several brings: float and double tensors, one of them empty.
Reduction brought_by(std::uint32_t i) {
  RandomStream random(i + 1);
  Tensor matrix(DType::float32, {3, 5});
  for (auto& x : matrix.write<float>()) x = static_cast<float>(random.normal());
  Tensor vector(DType::float64, {7});
  for (auto& x : vector.write<double>()) x = random.normal();
  Reduction brought;
  brought.sums = {matrix, Tensor(DType::float32, {0, 2}), vector, Tensor::scalar(1.0F)};
  brought.gathered = {{Tensor::scalar(static_cast<std::int64_t>(i))}};
  return brought;
}

class AllReduceOf
    : public ::testing::TestWithParam<std::tuple<AllReduce, std::uint32_t, std::uint64_t>> {
 protected:
  AllReduce kind() const { return std::get<0>(GetParam()); }
  std::uint32_t members() const { return std::get<1>(GetParam()); }
  std::uint64_t seed() const { return std::get<2>(GetParam()); }
  std::vector<Reduction> all_bring() const {
    std::vector<Reduction> brought;
    for (std::uint32_t i = 0; i < members(); ++i) brought.push_back(brought_by(i));
    return brought;
  }
};

TEST_P(AllReduceOf, AddsUpWhatAllBring) {
  const auto results = Group(kind(), members()).run(all_bring(), seed());
  const auto brought = all_bring();
  ASSERT_EQ(results.size(), members());
  for (std::size_t t = 0; t < brought[0].sums.size(); ++t) {
    const auto& sum = results[0].sums.at(t);
    EXPECT_EQ(sum.dtype(), brought[0].sums[t].dtype());
    EXPECT_EQ(sum.shape(), brought[0].sums[t].shape());
    for (std::int64_t i = 0; i < sum.size(); ++i) {
      double expected = 0;
      for (const auto& b : brought) expected += b.sums[t].at(i);
      EXPECT_NEAR(sum.at(i), expected, 1e-5) << "tensor " << t << ", place " << i;
    }
  }
}

TEST_P(AllReduceOf, GivesAllTheSameBitsInWhateverOrderTheirPartsCome) {
  const auto first = Group(kind(), members()).run(all_bring(), 1);
  const auto other = Group(kind(), members()).run(all_bring(), seed() + 100);
  for (const auto& results : {first, other})
    for (const auto& result : results)
      for (std::size_t t = 0; t < result.sums.size(); ++t)
        for (std::int64_t i = 0; i < result.sums[t].size(); ++i)
          ASSERT_EQ(result.sums[t].at(i), first[0].sums[t].at(i));
}

TEST_P(AllReduceOf, HandsToAllWhatEachHasGathered) {
  for (const auto& result : Group(kind(), members()).run(all_bring(), seed())) {
    ASSERT_EQ(result.gathered.size(), members());
    for (std::uint32_t i = 0; i < members(); ++i) EXPECT_EQ(result.gathered[i].at(0).at(0), i);
  }
}

TEST_P(AllReduceOf, LeavesWhatWasBroughtAsItWas) {
  const auto brought = all_bring();
  Group(kind(), members()).run(brought, seed());
  for (std::uint32_t i = 0; i < members(); ++i)
    for (std::int64_t at = 0; at < 15; ++at)
      EXPECT_EQ(brought[i].sums[0].at(at), brought_by(i).sums[0].at(at));
}

INSTANTIATE_TEST_SUITE_P(Groups, AllReduceOf,
                         ::testing::Combine(::testing::Values(AllReduce::ring, AllReduce::tree),
                                            ::testing::Values(1U, 2U, 3U, 4U, 7U, 20U),
                                            ::testing::Values(1U, 2U, 3U)),
                         [](const auto& info) {
                           return text(to_string(std::get<0>(info.param)), "Of",
                                       std::get<1>(info.param), "Seed", std::get<2>(info.param));
                         });

TEST(Ring, SendsTwoTimesTheBytesOnce) {
  // 2 (n - 1) / n of the bytes each, so 2 (n - 1) times the bytes of one for all.
  Reduction brought;
  brought.sums = {Tensor(DType::float32, {4000})};
  Group ring(AllReduce::ring, 4);
  ring.run({4, brought}, 1);
  EXPECT_EQ(ring.bytes(), 2U * 3U * 16000U);
}

TEST(ReductionParts, ThatDoNotFitAreRefusedWithTheNameOfTheirSender) {
  for (const auto kind : {AllReduce::ring, AllReduce::tree}) {
    auto other = brought_by(1);
    other.sums[0] = Tensor(DType::float32, {2, 2});
    EXPECT_THAT(error_of([&] {
                  Group(kind, 2).run({brought_by(0), other}, 1);
                }),
                IsError(Code::invalid_argument, HasSubstr("member ")));
    other = brought_by(1);
    other.sums.pop_back();
    EXPECT_THAT(error_of([&] {
                  Group(kind, 2).run({brought_by(0), other}, 1);
                }),
                IsError(Code::invalid_argument, HasSubstr("tensors to be added up")));
  }
}

TEST(ReductionParts, OfAStrangerDoNoHarm) {
  RandomStream random(3);
  for (int i = 0; i < 2000; ++i) {
    const auto kind = i % 2 == 0 ? AllReduce::ring : AllReduce::tree;
    Group group(kind, 3);
    group[1].begin(1, brought_by(1));
    for (int k = 0; k < 4 && !group[1].done(); ++k) {
      const auto number = [&] { return static_cast<std::uint32_t>(random.uniform() * 5); };
      ReductionPart part;
      part.chunk = number();
      part.hops = number();
      part.origin = number();
      part.complete = number() > 2;
      if (number() > 1) part.sums = brought_by(number()).sums;
      for (auto n = number(); n > 2; --n) part.givers.push_back(number());
      part.gathered.resize(number() > 1 ? part.givers.size() : number());
      try {
        group[1].take(part);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::invalid_argument) << error.what();
      }
    }
    if (group[1].done()) (void)group[1].result();
  }
}

TEST(AllReduceNames, AreRingAndTree) {
  EXPECT_EQ(parse_all_reduce("ring"), AllReduce::ring);
  EXPECT_EQ(parse_all_reduce("tree"), AllReduce::tree);
  EXPECT_THAT(error_of([] { parse_all_reduce("star"); }),
              IsError(Code::invalid_argument, HasSubstr("choose ring or tree")));
}

}  // namespace
}  // namespace troupe
