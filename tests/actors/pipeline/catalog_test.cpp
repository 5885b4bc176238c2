#include "troupe/actors/pipeline/catalog.h"

#include "actors/decoders/listed_source.h"
#include "support/error_matcher.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/pipeline_file.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/actors/topology/troupe.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Registers, once for all tests, a reader that is a source, one that is an actor,
/// and a decoder.
class CatalogTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const bool once = [] {
      register_reader("numbers_below", [](const OptionMap& options) -> Records {
        const auto count = options.integer("count", 1, 1'000'000);
        return {[count] {
                  return std::make_unique<test::ListedSource>(
                      test::numbers_below(static_cast<int>(count)));
                },
                "numbers", count};
      });
      register_reader("numbers_of_an_actor", [](const OptionMap& options) {
        const auto count = options.integer("count", 5, 1, 1'000'000);
        return Records::from_actor(
            [count](Troupe& troupe, const std::string& name, const ReaderOptions& reading) {
              return troupe.spawn(
                  name, record_reader,
                  std::shared_ptr<RecordSource>(std::make_shared<test::ListedSource>(
                      test::numbers_below(static_cast<int>(count)))),
                  reading);
            },
            "numbers of an actor", count);
      });
      register_decoder("plain", [](const OptionMap&, const OptionMap& reader) -> DecoderFactory {
        EXPECT_TRUE(reader.has("count"));
        return [] { return std::make_shared<test::PlainNumberDecoder>(); };
      });
      return true;
    }();
    (void)once;
  }
  static std::vector<std::int64_t> values_of(const Batches& batches) {
    BatchIterator iterator(batches, {1, 1});
    std::vector<std::int64_t> values;
    while (const auto batch = iterator.next())
      for (const auto value : batch->components[0].read<std::int64_t>()) values.push_back(value);
    return values;
  }
};

TEST_F(CatalogTest, MakesRecordsByNameInTheBuilder) {
  const OptionMap options{{"count", "4"}};
  EXPECT_THAT(values_of(read_records("numbers_below", options)
                            .repeat(2)
                            .decode({decoder_of("plain", {}, options)}, {.decoders = 1})
                            .buffer(10)
                            .batch(3, Remainder::keep)),
              ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
}

TEST_F(CatalogTest, MakesRecordsByNameInPipelineFiles) {
  for (const std::string reader : {"numbers_below", "numbers_of_an_actor"})
    EXPECT_THAT(values_of(parse_pipeline("stream { reader { name: '" + reader +
                                             "' option { name: 'count' value: '5' } }"
                                             "         decoder { name: 'plain' } }"
                                             "fifo { capacity: 10 } batch { rows: 2 "
                                             "remainder: DROP }",
                                         "x.pbtxt")),
                ElementsAre(0, 1, 2, 3))
        << reader;
}

TEST_F(CatalogTest, RefusesOptionsThatNobodyKnows) {
  EXPECT_THAT(error_of([] {
                read_records("numbers_below", {{"count", "4"}, {"size", "4"}});
              }),
              IsError(Code::invalid_argument,
                      "reader 'numbers_below' has no option 'size'; there are: count"));
  EXPECT_THAT(error_of([] { read_records("numbers_below"); }),
              IsError(Code::invalid_argument, "reader 'numbers_below' needs the option 'count'"));
}

TEST_F(CatalogTest, NamesWhatThereIs) {
  EXPECT_THAT(error_of([] { read_records("texts"); }),
              IsError(Code::not_found, HasSubstr("no reader is called 'texts'; there are: ")));
  EXPECT_THAT(error_of([] { decoder_of("number"); }),
              IsError(Code::not_found, HasSubstr("no decoder is called 'number'; there are: ")));
  std::vector<std::string> names;
  for (const auto& format : reader_formats()) names.push_back(format.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"idx", "libsvm", "npy", "numbers_below", "text"}));
}

TEST_F(CatalogTest, GivesANameOnce) {
  EXPECT_THAT(error_of([] {
                register_reader("text", [](const OptionMap&) -> Records { return {{}, ""}; });
              }),
              IsError(Code::already_exists, "a reader called 'text' is already registered"));
  EXPECT_THAT(error_of([] { register_decoder("", {}); }),
              IsError(Code::invalid_argument, HasSubstr("with a name and a function")));
}

}  // namespace
}  // namespace troupe
