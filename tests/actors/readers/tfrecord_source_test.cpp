#include "troupe/actors/readers/tfrecord_source.h"

#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/readers/tfrecord_format.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::read_all;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kData = TROUPE_TEST_DATA "/records/";

class TFRecordSourceTest : public ::testing::Test {
 protected:
  std::vector<std::string> read(const std::string& bytes, TFRecordOptions options = {}) {
    test::write_file(directory / "x", bytes);
    options.files = {directory / "x"};
    TFRecordSource source(options);
    return read_all(source);
  }
  Error failure(const std::string& bytes, const TFRecordOptions& options = {}) {
    return error_of([&] { read(bytes, options); });
  }
  static std::string records(std::initializer_list<std::string> all) {
    std::string bytes;
    for (const auto& record : all) append_tfrecord(bytes, record);
    return bytes;
  }

  test::TemporaryDirectory directory;
};

/// What TensorFlow wrote, split at newlines.
std::vector<std::string> expected_records() {
  std::vector<std::string> all;
  const auto bytes = test::read_file(kData + "plain.txt");
  for (std::size_t at = 0; at < bytes.size();) {
    const auto end = bytes.find('\n', at);
    all.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

TEST_F(TFRecordSourceTest, ReadsWhatTensorFlowWroteInEveryCompression) {
  const auto expected = expected_records();
  ASSERT_EQ(expected.size(), 20u);
  for (const std::size_t buffer : {1, 100, 1 << 20}) {
    const auto read = [&](const std::string& name, Compression compression) {
      TFRecordSource source(
          {.files = {kData + name}, .compression = compression, .buffer_bytes = buffer});
      return read_all(source);
    };
    EXPECT_EQ(read("plain.tfrecord", Compression::automatic), expected);
    EXPECT_EQ(read("gzip.tfrecord.gz", Compression::automatic), expected);
    EXPECT_EQ(read("gzip.tfrecord.gz", Compression::gzip), expected);
    EXPECT_EQ(read("zlib.tfrecord", Compression::zlib), expected);
  }
}

TEST_F(TFRecordSourceTest, ReadsWhatTheWriterWrites) {
  const auto expected = expected_records();
  for (const auto compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    test::write_tfrecords(directory / "x", expected, compression);
    TFRecordSource source({.files = {directory / "x"}, .compression = compression});
    EXPECT_EQ(read_all(source), expected);
  }
  test::write_tfrecords(directory / "x", expected, Compression::none);
  EXPECT_EQ(test::read_file(directory / "x"), test::read_file(kData + "plain.tfrecord"));
}

TEST_F(TFRecordSourceTest, NumbersRecordsFromOneInEachFile) {
  test::write_tfrecords(directory / "a", {"1", "2"});
  test::write_tfrecords(directory / "b", {"3"});
  TFRecordSource source({.files = {directory / "a", directory / "b"}});
  EXPECT_THAT(test::read_with_places(source), ElementsAre("a:1 1", "a:2 2", "b:1 3"));
}

TEST_F(TFRecordSourceTest, NamesTheRecordWhoseBytesAreDamaged) {
  auto bytes = records({"good", "bad one", "good"});
  bytes[20 + 12 + 2] ^= 1;
  EXPECT_THAT(failure(bytes),
              IsError(Code::data_loss, AllOf(HasSubstr("x:2: the record at byte 20 "),
                                             HasSubstr("wrong checksum: its bytes are damaged"))));
  EXPECT_EQ(read(bytes, {.check_data = false}).size(), 3u);
}

TEST_F(TFRecordSourceTest, GivesOutTheRecordsInFrontOfDamage) {
  auto bytes = records({"one", "two", "three"});
  bytes.back() ^= 1;
  FilePolicy policy;
  policy.damaged = FileAction::skip;
  EXPECT_THAT(read(bytes, {.policy = policy}), ElementsAre("one", "two"));
}

TEST_F(TFRecordSourceTest, NamesTheRecordThatIsCutShort) {
  const auto bytes = records({"one", "two"});
  EXPECT_THAT(
      failure(bytes.substr(0, bytes.size() - 1)),
      IsError(Code::data_loss, HasSubstr("x:2: the record at byte 19 is cut short: 19 bytes "
                                         "are needed, but the file ends after 18")));
  EXPECT_THAT(
      failure(bytes.substr(0, 19 + 5)),
      IsError(Code::data_loss, HasSubstr("cut short: the file ends after 5 bytes of its header")));
}

TEST_F(TFRecordSourceTest, GuessesWhatAFileIsThatHoldsNoTFRecords) {
  EXPECT_THAT(failure("this is just a text"),
              IsError(Code::data_loss, HasSubstr("x:1: the record at byte 0 has a length of")));
  EXPECT_THAT(failure(test::compressed(records({"one"}), true)),
              IsError(Code::data_loss, HasSubstr("it looks like gzip (TFRecordOptions")));
  EXPECT_THAT(failure(test::compressed(records({"one"}), false)),
              IsError(Code::data_loss, HasSubstr("it looks like zlib (TFRecordOptions")));
  EXPECT_THAT(failure(records({"one"}), {.compression = Compression::gzip}),
              IsError(Code::data_loss, HasSubstr("x: not gzip data")));
}

TEST_F(TFRecordSourceTest, NeverAllocatesForALengthThatTheFileDoesNotHave) {
  auto bytes = records({std::string(1 << 10, 'x')});
  for (const auto& compressed :
       {bytes.substr(0, 100), test::compressed(bytes.substr(0, 100), true)})
    EXPECT_EQ(failure(compressed, {.compression = compressed.size() == 100 ? Compression::none
                                                                           : Compression::gzip})
                  .code(),
              Code::data_loss);
  EXPECT_THAT(failure(bytes, {.max_record_bytes = 1000}),
              IsError(Code::resource_exhausted, HasSubstr("has 1024 bytes, more than 1000")));
}

TEST_F(TFRecordSourceTest, RefusesToWriteBehindTheEnd) {
  TFRecordWriter writer(directory / "x");
  writer.close();
  writer.close();
  EXPECT_THAT(error_of([&] { writer.write("more"); }),
              IsError(Code::failed_precondition, HasSubstr("has been closed")));
  EXPECT_THAT(error_of([&] { TFRecordWriter(directory / "no/such/file"); }),
              IsError(Code::not_found, HasSubstr("no/such/file")));
}

}  // namespace
}  // namespace troupe
