#include "troupe/actors/readers/interleave_source.h"

#include "actors/decoders/listed_source.h"
#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "support/reference_file.h"
#include "troupe/actors/readers/repeat_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::ListedSource;
using test::read_all;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Inputs = std::vector<std::vector<std::string>>;

InterleaveSource interleave(const Inputs& inputs, const InterleaveOptions& options) {
  return {inputs.size(),
          [inputs](std::size_t i) { return std::make_unique<ListedSource>(inputs[i]); }, "lists",
          options};
}

TEST(InterleaveSource, TakesTurns) {
  auto source = interleave({{"a1", "a2", "a3"}, {"b1"}, {"c1", "c2"}}, {.cycle_length = 2});
  EXPECT_THAT(read_all(source), ElementsAre("a1", "b1", "a2", "a3", "c1", "c2"));
}

TEST(InterleaveSource, TakesBlocksInTurn) {
  auto source =
      interleave({{"a1", "a2", "a3"}, {"b1", "b2", "b3"}}, {.cycle_length = 2, .block_length = 2});
  EXPECT_THAT(read_all(source), ElementsAre("a1", "a2", "b1", "b2", "a3", "b3"));
}

TEST(InterleaveSource, HasTheOrderOfTensorFlow) {
  const auto cases = test::read_references(TROUPE_TEST_DATA "/records/interleave.txt");
  EXPECT_GT(cases.size(), 5u);
  for (const auto& c : cases) {
    Inputs inputs;
    for (const auto count : c.tensor("counts").read<std::int64_t>()) {
      auto& input = inputs.emplace_back();
      for (std::int64_t r = 0; r < count; ++r)
        input.push_back(std::to_string(100 * (static_cast<std::int64_t>(inputs.size()) - 1) + r));
    }
    std::vector<std::string> expected;
    for (const auto id : c.tensor("order").read<std::int64_t>())
      expected.push_back(std::to_string(id));
    auto source =
        interleave(inputs, {.cycle_length = static_cast<std::size_t>(c.integer("cycle")),
                            .block_length = static_cast<std::size_t>(c.integer("block"))});
    EXPECT_EQ(read_all(source, {.records = 5}), expected) << c.name;
  }
}

TEST(InterleaveSource, FillsBlocksWithRecordsOfSeveralInputs) {
  auto source = interleave({{"a1", "a2"}, {"b1", "b2"}}, {});
  std::vector<RecordRun> runs;
  ASSERT_TRUE(source.read(runs, {.records = 3}));
  EXPECT_EQ(runs[0].count(), 3u);
  EXPECT_EQ(runs[0].place(2), "list:2");
}

TEST(InterleaveSource, ReadsInputsInAnotherOrderInEachEpoch) {
  auto inputs = std::make_unique<InterleaveSource>(
      interleave({{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}}, {.cycle_length = 2}));
  RepeatSource source(std::move(inputs), {.epochs = 2, .shuffle_files = true, .seed = 3});
  const auto all = read_all(source);
  const std::vector<std::string> first(all.begin(), all.begin() + 6);
  const std::vector<std::string> second(all.begin() + 6, all.end());
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(second));
  EXPECT_NE(first, second);
}

TEST(InterleaveSource, GivesOutWhatCameBeforeAFailure) {
  InterleaveSource source(
      2,
      [](std::size_t i) {
        auto list = std::make_unique<ListedSource>(test::numbers_below(2));
        if (i == 1) list->fail_at_the_end(Error(Code::data_loss, "list:3: torn"));
        return list;
      },
      "lists");
  std::vector<RecordRun> runs;
  ASSERT_TRUE(source.read(runs, {}));
  EXPECT_EQ(runs[0].count(), 4u);
  EXPECT_THAT(error_of([&] { source.read(runs, {}); }),
              IsError(Code::data_loss, HasSubstr("list:3: torn")));
}

TEST(InterleaveSource, RefusesToFindNothing) {
  auto source = interleave({{}, {}}, {});
  EXPECT_THAT(error_of([&] { read_all(source); }),
              IsError(Code::invalid_argument, HasSubstr("0 records in lists")));
  auto patient = interleave({{}, {}}, {.allow_empty = true});
  EXPECT_TRUE(read_all(patient).empty());
  EXPECT_THROW(interleave({}, {}), Error);
  EXPECT_THROW(interleave({{"a"}}, {.block_length = 0}), Error);
}

}  // namespace
}  // namespace troupe
