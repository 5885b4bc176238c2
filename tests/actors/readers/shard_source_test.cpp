#include "troupe/actors/readers/shard_source.h"

#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/text_line_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ShardSourceTest : public ::testing::Test {
 protected:
  ShardSourceTest() {
    test::write_file(directory / "a.txt", test::lines_of("a", 5));
    test::write_file(directory / "b.txt", test::lines_of("b", 4));
    test::write_file(directory / "c.txt", test::lines_of("c", 1));
  }
  ShardSource shard(std::size_t index, std::size_t count) {
    return {std::make_unique<TextLineSource>(TextLineOptions{.files = {directory / "*.txt"}}),
            index, count};
  }
  test::TemporaryDirectory directory;
};

TEST_F(ShardSourceTest, KeepsEveryNthRecordWithItsPlace) {
  auto source = shard(1, 3);
  EXPECT_THAT(test::read_with_places(source),
              ElementsAre("a.txt:2 a2", "a.txt:5 a5", "b.txt:3 b3"));
}

TEST_F(ShardSourceTest, GivesEachRecordToOneReader) {
  for (std::size_t count = 1; count < 13; ++count) {
    std::size_t all = 0;
    for (std::size_t index = 0; index < count; ++index) {
      auto source = shard(index, count);
      for (const auto& record : test::read_all(source, {.records = 2})) {
        ++all;
        const int number = record[1] - '1' + (record[0] == 'b' ? 5 : record[0] == 'c' ? 9 : 0);
        EXPECT_EQ(static_cast<std::size_t>(number) % count, index);
      }
    }
    EXPECT_EQ(all, 10u);
  }
}

TEST_F(ShardSourceTest, RefusesAShardThatIsNone) {
  EXPECT_THAT(error_of([&] { shard(3, 3); }),
              IsError(Code::invalid_argument, HasSubstr("there is no shard 3 of 3")));
}

TEST_F(ShardSourceTest, SharesFilesOut) {
  EXPECT_THAT(shard_files({directory / "*.txt"}, 0, 2),
              ElementsAre(directory / "a.txt", directory / "c.txt"));
  EXPECT_THAT(shard_files({directory / "*.txt"}, 1, 2), ElementsAre(directory / "b.txt"));
  EXPECT_THAT(error_of([&] { shard_files({directory / "*.txt"}, 1, 4); }),
              IsError(Code::invalid_argument, HasSubstr("there are only 3")));
}

}  // namespace
}  // namespace troupe
