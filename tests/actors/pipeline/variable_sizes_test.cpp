#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/pipeline/listed_records.h"
#include "support/message_of.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Record n becomes n ones.
Examples ones(const std::vector<int>& lengths, const DecodeOptions& options = {.decoders = 2}) {
  std::vector<std::string> records;
  for (const int length : lengths) records.push_back(std::to_string(length));
  return test::listed(records, 3)
      .decode({test::plain_numbers()}, options)
      .map(
          [](const Element& element) -> Element {
            return {Tensor::filled(DType::int64, {element[0].read<std::int64_t>()[0]}, 1)};
          },
          {{DType::int64, {Shape::kUnknown}}});
}

std::vector<std::vector<std::int64_t>> shapes(const Batches& batches) {
  BatchIterator iterator(batches, {2, 1});
  std::vector<std::vector<std::int64_t>> all;
  while (const auto batch = iterator.next()) all.push_back(batch->components[0].shape().vector());
  return all;
}

using Shapes = std::vector<std::vector<std::int64_t>>;

TEST(PaddedPipeline, FillsUpToTheLargestOfEachBatch) {
  const auto batches =
      ones({1, 4, 2, 2, 3}).buffer(8).padded_batch(2, Remainder::keep, {.values = {-1}});
  EXPECT_EQ(shapes(batches), (Shapes{{2, 4}, {2, 2}, {1, 3}}));
  BatchIterator iterator(batches, {2, 1});
  EXPECT_THAT(iterator.next()->components[0].read<std::int64_t>(),
              ElementsAre(1, -1, -1, -1, 1, 1, 1, 1));
}

TEST(PaddedPipeline, DropsTheRemainderIfItIsToldTo) {
  EXPECT_EQ(shapes(ones({1, 4, 2}).buffer(8).padded_batch(2, Remainder::drop)), (Shapes{{2, 4}}));
}

TEST(PaddedPipeline, MayShuffleBefore) {
  std::int64_t rows = 0;
  for (const auto& shape : shapes(ones({1, 4, 2, 7, 9, 3, 3})
                                      .shuffle({.capacity = 5, .min_after_dequeue = 2})
                                      .padded_batch(2, Remainder::keep)))
    rows += shape[0];
  EXPECT_EQ(rows, 7);
}

TEST(PaddedPipeline, FailsWhenABatchIsLargerThanItMayBe) {
  const auto batches =
      ones({1, 100}).buffer(8).padded_batch(2, Remainder::keep, {.batch_bytes = 1599});
  EXPECT_THAT(message_of([&] { shapes(batches); }), HasSubstr("1600 bytes once padded, but 1599"));
}

TEST(PaddedPipeline, FailsWhenADecoderMakesMoreThanItMayHold) {
  const auto batches = ones({1, 2, 100}, {.decoders = 1, .decoded_bytes = 500})
                           .buffer(8)
                           .padded_batch(2, Remainder::keep);
  EXPECT_THAT(message_of([&] { shapes(batches); }),
              HasSubstr("list:3: the elements of 3 records have 824 bytes, but a decoder may hold "
                        "500"));
}

TEST(PaddedPipeline, HasABoundOfBytesUnlessTheUserSaysOne) {
  EXPECT_THAT(ones({1}).buffer(8).padded_batch(2, Remainder::keep).describe(),
              HasSubstr("at most 268435456 bytes"));
  EXPECT_THAT(ones({1})
                  .buffer({.capacity = 8, .capacity_bytes = 100})
                  .padded_batch(2, Remainder::keep)
                  .describe(),
              HasSubstr("at most 100 bytes"));
}

TEST(PaddedPipeline, NeedsAValueForEveryComponentOrOneForAll) {
  EXPECT_EQ(message_of([] {
              ones({1}).buffer(8).padded_batch(2, Remainder::keep, {.values = {1, 2}});
            }),
            "elements have 1 components, but 2 values to fill them up with were given "
            "(PadOptions::values)");
}

TEST(Buckets, PutElementsOfLikeLengthsIntoABatch) {
  const auto batches =
      ones({1, 9, 2, 3, 8, 7})
          .bucket_by_length({.boundaries = {5}, .batch_sizes = {2, 3}}, Remainder::keep);
  EXPECT_EQ(batches.rows(), 3);
  EXPECT_EQ(shapes(batches), (Shapes{{2, 2}, {3, 9}, {1, 3}}));
  EXPECT_THAT(batches.describe(), HasSubstr("batches of 2 below 5, 3 and above, padded"));
}

TEST(Buckets, DropTheRemainderOfEachIfTheyAreToldTo) {
  EXPECT_EQ(
      shapes(ones({1, 9, 2, 3, 8, 7})
                 .bucket_by_length({.boundaries = {5}, .batch_sizes = {2, 3}}, Remainder::drop)),
      (Shapes{{2, 2}, {3, 9}}));
}

TEST(Buckets, TakeALengthOfTheUsersOwn) {
  const auto length = [](const Element& element) { return 10 - element[0].size(); };
  EXPECT_EQ(
      shapes(ones({1, 9, 2, 8})
                 .bucket_by_length({.boundaries = {5}, .batch_sizes = {2, 2}, .length = length},
                                   Remainder::keep)),
      (Shapes{{2, 2}, {2, 9}}));
}

TEST(Buckets, MayBeShuffledToo) {
  std::int64_t rows = 0;
  for (const auto& shape :
       shapes(ones({1, 4, 2, 7, 9, 3, 3, 8, 8, 1})
                  .shuffle({.capacity = 8, .min_after_dequeue = 3})
                  .bucket_by_length({.boundaries = {5}, .batch_sizes = {2, 2}}, Remainder::keep)))
    rows += shape[0];
  EXPECT_EQ(rows, 10);
}

TEST(Buckets, NeedRoomForOneOfThemToGetFull) {
  EXPECT_THAT(message_of([] {
                ones({1}).buffer(3).bucket_by_length({.boundaries = {5}, .batch_sizes = {2, 3}},
                                                     Remainder::keep);
              }),
              HasSubstr("it needs room for 4 or more"));
  EXPECT_THAT(message_of([] {
                test::number_examples(0, 3).bucket_by_length(
                    {.boundaries = {5}, .batch_sizes = {2, 3}}, Remainder::keep);
              }),
              HasSubstr("BucketOptions::length"));
}

}  // namespace
}  // namespace troupe
