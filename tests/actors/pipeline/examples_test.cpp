#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "actors/pipeline/listed_records.h"
#include "support/message_of.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using test::all_batches;
using test::all_numbers;
using test::message_of;
using test::number_examples;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(end - begin));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

Element plus_hundred(const Element& element) {
  return {Tensor::scalar<std::int64_t>(element[0].read<std::int64_t>()[0] + 100)};
}

bool is_even(const Element& element) { return element[0].read<std::int64_t>()[0] % 2 == 0; }

// ---- map and filter --------------------------------------------------------------------------

TEST(MappedExamples, AreChangedOneByOneAndKeepTheirOrder) {
  EXPECT_EQ(
      all_numbers(number_examples(0, 50).map(plus_hundred).buffer(8).batch(7, Remainder::keep)),
      range(100, 150));
}

TEST(MappedExamples, HaveTheShapesThatTheUserGives) {
  const auto halves = [](const Element& element) -> Element {
    const auto value = element[0].read<std::int64_t>()[0];
    return {Tensor::of<float>({2}, {static_cast<float>(value), 0.5F})};
  };
  const auto batches = number_examples(0, 4)
                           .map(halves, {{DType::float32, {2}}})
                           .buffer(8)
                           .batch(4, Remainder::keep);
  EXPECT_EQ(batches.components().at(0).shape, Shape({2}));
  BatchIterator iterator(batches, {2, 1});
  EXPECT_THAT(iterator.next()->components[0].read<float>(),
              ElementsAre(0, 0.5, 1, 0.5, 2, 0.5, 3, 0.5));
}

TEST(MappedExamples, ThatAreNotOfTheseShapesAreAFailure) {
  const auto wrong = [](const Element&) -> Element { return {Tensor(DType::float32, {3})}; };
  const auto batches =
      number_examples(0, 4).map(wrong, {{DType::float32, {2}}}).buffer(8).batch(4, Remainder::keep);
  EXPECT_THAT(message_of([&] { all_batches(batches); }), HasSubstr("float32 [3], but must be"));
}

TEST(MappedExamples, SayWhichRecordTheyFailedAt) {
  const auto picky = [](Element element) {
    if (element[0].read<std::int64_t>()[0] == 17) throw std::runtime_error("no 17, please");
    return element;
  };
  EXPECT_EQ(message_of([&] {
              all_batches(number_examples(0, 50).map(picky).buffer(8).batch(7, Remainder::keep));
            }).substr(0, 22),
            "list:18: no 17, please");
}

TEST(MappedExamples, AreBadRecordsWhenTheyFailAndMayBeLeftOut) {
  const auto picky = [](Element element) {
    if (element[0].read<std::int64_t>()[0] == 1) fail(Code::invalid_argument, "no 1");
    return element;
  };
  const auto examples =
      test::listed({"0", "1", "2"})
          .decode({test::plain_numbers()}, {.decoders = 1, .skip_bad_records = 1});
  EXPECT_THAT(all_numbers(examples.map(picky).buffer(8).batch(7, Remainder::keep)),
              ElementsAre(0, 2));
}

TEST(FilteredExamples, AreThoseThatTheUserKeeps) {
  EXPECT_THAT(
      all_numbers(number_examples(0, 10).filter(is_even).buffer(8).batch(2, Remainder::keep)),
      ElementsAre(0, 2, 4, 6, 8));
}

TEST(FilteredExamples, SeeWhatStepsBeforeThemMade) {
  const auto odd = [](const Element& element) { return !is_even(element); };
  const auto plus_one = [](const Element& element) -> Element {
    return {Tensor::scalar<std::int64_t>(element[0].read<std::int64_t>()[0] + 1)};
  };
  EXPECT_THAT(all_numbers(number_examples(0, 6)
                              .map(plus_one)
                              .filter(odd)
                              .map(plus_hundred)
                              .buffer(8)
                              .batch(9, Remainder::keep)),
              ElementsAre(101, 103, 105));
}

TEST(FilteredExamples, MayBeNone) {
  const auto none = [](const Element&) { return false; };
  EXPECT_THAT(all_numbers(number_examples(0, 50).filter(none).buffer(8).batch(2, Remainder::keep)),
              IsEmpty());
}

TEST(FilteredExamples, AreNotCountedBefore) {
  const Records records([] { return std::make_unique<test::ListedSource>(test::numbers_below(9)); },
                        "nine", 9);
  const auto examples = records.decode({test::plain_numbers()});
  EXPECT_EQ(examples.buffer(8).batch(2, Remainder::keep).epoch_examples(), 9);
  EXPECT_EQ(examples.filter(is_even).buffer(8).batch(2, Remainder::keep).epoch_examples(), 0);
}

TEST(StepsOfExamples, ComeBeforeTheQueue) {
  EXPECT_THAT(message_of([] { number_examples(0, 9).buffer(8).map(plus_hundred); }),
              HasSubstr("map comes before shuffle and buffer"));
}

// ---- join ------------------------------------------------------------------------------------

TEST(JoinedExamples, AllComeThrough) {
  const auto all =
      join({number_examples(0, 40), number_examples(100, 110), number_examples(200, 270, 4, 3)});
  auto numbers = range(0, 40);
  for (const auto n : range(100, 110)) numbers.push_back(n);
  for (const auto n : range(200, 270)) numbers.push_back(n);
  EXPECT_THAT(
      all_numbers(all.shuffle({.capacity = 20, .min_after_dequeue = 5}).batch(8, Remainder::keep)),
      UnorderedElementsAreArray(numbers));
}

TEST(JoinedExamples, TakeTurnsBlockByBlockWhenInOrder) {
  const auto all = join({number_examples(0, 6, 2), number_examples(10, 13, 1)});
  EXPECT_THAT(all_numbers(all.buffer(4).batch(5, Remainder::keep).in_order()),
              ElementsAre(0, 1, 10, 2, 3, 11, 4, 5, 12));
}

TEST(JoinedExamples, GoOnInOrderWhenOneStreamHasEnded) {
  const auto all =
      join({number_examples(0, 1), number_examples(10, 40, 1, 3), number_examples(50, 53, 1)});
  std::vector<std::int64_t> wanted{0, 10, 50, 11, 51, 12, 52};
  for (const auto n : range(13, 40)) wanted.push_back(n);
  EXPECT_EQ(all_numbers(all.buffer(4).batch(5, Remainder::keep).in_order()), wanted);
}

TEST(JoinedExamples, GetTheStepsOfEachAndThenThoseOfAll) {
  const auto all = join({number_examples(0, 3).map(plus_hundred), number_examples(0, 4)});
  EXPECT_THAT(all_numbers(all.filter(is_even).buffer(4).batch(5, Remainder::keep)),
              UnorderedElementsAreArray(std::vector<std::int64_t>{100, 102, 0, 2}));
}

TEST(JoinedExamples, FailWithTheFirstFailure) {
  const auto bad = test::listed({"7", "x"}).decode({test::plain_numbers()}, {.decoders = 1});
  EXPECT_THAT(message_of([&] {
                all_batches(join({number_examples(0, 9), bad}).buffer(4).batch(5, Remainder::keep));
              }),
              ::testing::StartsWith("list:2: \"x\" is not a number"));
}

TEST(JoinedExamples, MustFitEachOther) {
  const auto floats = number_examples(0, 3).map(
      [](const Element&) -> Element { return {Tensor::scalar<float>(1)}; }, {{DType::float32, {}}});
  EXPECT_EQ(message_of([&] {
              join({number_examples(0, 3), floats});
            }),
            "cannot join: component 0 of stream 1 is float32 [], but that of the others int64 []");
  EXPECT_THAT(message_of([&] { join({number_examples(0, 3).buffer(3)}); }),
              HasSubstr("join examples before shuffle and buffer"));
}

// ---- words -----------------------------------------------------------------------------------

TEST(Batches, WarnWhenAShuffleHasFewerElementsToChooseFromThanABatchHas) {
  const auto examples = number_examples(0, 9);
  const auto few = examples.shuffle({.capacity = 100, .min_after_dequeue = 7});
  EXPECT_THAT(few.batch(7, Remainder::keep).warnings(), IsEmpty());
  ASSERT_EQ(few.batch(8, Remainder::keep).warnings().size(), 1u);
  EXPECT_THAT(few.batch(8, Remainder::keep).describe(),
              HasSubstr("warning: the shuffle queue keeps 7 elements to choose from"));
}

TEST(Batches, RefuseElementsWhoseSizesVary) {
  const auto examples =
      number_examples(0, 9).map([](Element e) { return e; }, {{DType::int64, {Shape::kUnknown}}});
  EXPECT_THAT(message_of([&] { examples.buffer(9).batch(3, Remainder::keep); }),
              HasSubstr("component 0 of the elements is int64 [?]"));
}

// ---- sizes that nothing could have -----------------------------------------------------------

TEST(Batches, AreRefusedWhenNoMemoryCouldHoldThem) {
  const auto elements = [](std::int64_t extent) {
    return number_examples(0, 4).map([](Element element) { return element; },
                                     {{DType::float32, {extent, extent}}});
  };
  const auto large = std::int64_t{1} << 31;
  EXPECT_THAT(message_of([&] { (void)elements(large).batch(1, Remainder::keep); }),
              HasSubstr("a batch of 1 row would have more than 2^47 bytes: component 0"));
  EXPECT_THAT(message_of([&] { (void)elements(large).padded_batch(1, Remainder::keep); }),
              HasSubstr("more than 2^47 bytes"));
  EXPECT_THAT(message_of([&] { (void)elements(1 << 20).batch(100, Remainder::keep); }),
              HasSubstr("a batch of 100 rows would have more than 2^47 bytes"));
  EXPECT_THAT(message_of([&] {
                (void)elements(1 << 20).bucket_by_length(
                    {.boundaries = {7},
                     .batch_sizes = {1, 100},
                     .length = [](const Element&) { return 1; }},
                    Remainder::keep);
              }),
              HasSubstr("a batch of 100 rows would have more than 2^47 bytes"));
  EXPECT_NO_THROW((void)elements(1 << 20).batch(1, Remainder::keep));
}

}  // namespace
}  // namespace troupe
