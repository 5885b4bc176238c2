#include <gmock/gmock.h>

#include "actors/decoders/listed_source.h"
#include "support/error_matcher.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/actors/topology/troupe.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Records that an actor of the test's own gives out.
Records listed_by_an_actor() {
  return Records::from_actor(
      [](Troupe& troupe, const std::string& name, const ReaderOptions& options) {
        return troupe.spawn(name, record_reader,
                            std::shared_ptr<RecordSource>(
                                std::make_shared<test::ListedSource>(test::numbers_below(5))),
                            options);
      },
      "a list by an actor", 5);
}

TEST(RecordsFromAnActor, AreDecodedLikeAnyOthers) {
  BatchIterator batches(
      listed_by_an_actor()
          .decode({[] { return std::make_shared<test::PlainNumberDecoder>(); }}, {.decoders = 2})
          .buffer(10)
          .batch(3, Remainder::keep),
      {1, 1});
  std::vector<std::int64_t> values;
  while (const auto batch = batches.next())
    for (const auto value : batch->components[0].read<std::int64_t>()) values.push_back(value);
  EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4));
}

TEST(RecordsFromAnActor, AreOnePassThatNobodyElseArranges) {
  const auto records = listed_by_an_actor();
  EXPECT_THAT(error_of([&] { (void)records.repeat(2); }),
              IsError(Code::failed_precondition,
                      HasSubstr("a list by an actor cannot be repeated: an actor reads them")));
  EXPECT_THAT(error_of([&] { (void)records.zip(records); }),
              IsError(Code::failed_precondition, HasSubstr("cannot be zipped")));
  EXPECT_THAT(error_of([&] { (void)records.open(); }),
              IsError(Code::failed_precondition, HasSubstr("cannot be opened as a source")));
}

}  // namespace
}  // namespace troupe
