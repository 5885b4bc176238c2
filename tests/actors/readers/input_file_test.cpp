#include "troupe/actors/readers/input_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/readers/text_line_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InputFileTest : public ::testing::Test {
 protected:
  std::string read(const std::string& bytes, Compression compression, std::size_t piece = 1000) {
    test::write_file(directory / "x", bytes);
    InputFile file(directory / "x", compression);
    std::string all(piece, '\0');
    std::size_t done = 0;
    while (const auto got = file.read(all.data() + done, piece)) {
      done += got;
      all.resize(done + piece);
    }
    EXPECT_EQ(file.offset(), done);
    all.resize(done);
    return all;
  }
  static std::string random_bytes(std::size_t size) {
    std::mt19937 random(9);
    std::string bytes(size, '\0');
    for (auto& c : bytes) c = static_cast<char>(random() % 20);
    return bytes;
  }
  test::TemporaryDirectory directory;
};

TEST_F(InputFileTest, Decompresses) {
  const auto bytes = random_bytes(100'000);
  for (const std::size_t piece : {1u, 77u, 1u << 20}) {
    EXPECT_EQ(read(test::compressed(bytes, true), Compression::gzip, piece), bytes);
    EXPECT_EQ(read(test::compressed(bytes, false), Compression::zlib, piece), bytes);
    EXPECT_EQ(read(bytes, Compression::none, piece), bytes);
  }
  EXPECT_EQ(read("", Compression::gzip), "");
}

TEST_F(InputFileTest, TakesMembersOneAfterTheOtherAndZerosBehindThem) {
  const auto two =
      test::compressed("one ", true) + test::compressed("", true) + test::compressed("two", true);
  EXPECT_EQ(read(two, Compression::gzip, 3), "one two");
  EXPECT_EQ(read(two + std::string(1000, '\0'), Compression::gzip), "one two");
  EXPECT_THAT(error_of([&] { read(two + "rubbish", Compression::gzip); }),
              IsError(Code::data_loss, HasSubstr("something else than gzip data follows after 7")));
}

TEST_F(InputFileTest, GoesToAnyByteOfACompressedFile) {
  const auto bytes = random_bytes(300'000);
  test::write_file(directory / "x.gz", test::compressed(bytes, true));
  InputFile file(directory / "x.gz");
  for (const std::size_t at : {200'000u, 10u, 0u, 299'999u, 300'000u}) {
    file.seek(at);
    std::string piece(100, '\0');
    piece.resize(file.read(piece.data(), piece.size()));
    EXPECT_EQ(piece, bytes.substr(at, 100));
  }
  EXPECT_THAT(error_of([&] { file.seek(300'001); }),
              IsError(Code::data_loss, HasSubstr("there are only 300000")));
}

/// The standard input is a pipe with these bytes as long as this lives.
class StandardInput {
 public:
  explicit StandardInput(std::string_view bytes) : old_(dup(STDIN_FILENO)) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
  }
  ~StandardInput() {
    dup2(old_, STDIN_FILENO);
    close(old_);
  }

 private:
  int old_;
};

TEST_F(InputFileTest, ReadsTheStandardInput) {
  const StandardInput input("one\ntwo\n");
  TextLineSource source({.files = {"-"}});
  EXPECT_THAT(test::read_with_places(source), ElementsAre("-:1 one", "-:2 two"));
  source.restart({});
  EXPECT_THAT(
      error_of([&] { test::read_all(source); }),
      IsError(Code::failed_precondition, HasSubstr("standard input can be read only once")));
}

TEST_F(InputFileTest, ReadsACompressedStandardInput) {
  const StandardInput input(test::compressed("one\ntwo\n", true));
  TextLineSource source({.files = {"-"}, .compression = Compression::gzip});
  EXPECT_THAT(test::read_all(source), ElementsAre("one", "two"));
}

TEST_F(InputFileTest, GoesOnInAStandardInputThatIsTheSame) {
  SourcePosition position;
  {
    const StandardInput input("one\ntwo\n");
    TextLineSource source({.files = {"-"}});
    std::vector<RecordRun> runs;
    ASSERT_TRUE(source.read(runs, {.records = 1}));
    position = source.position();
  }
  const StandardInput input("one\ntwo\n");
  TextLineSource source({.files = {"-"}});
  source.seek(position);
  EXPECT_THAT(test::read_with_places(source), ElementsAre("-:2 two"));
}

TEST_F(InputFileTest, SaysWhatIsWrongWithCompressedData) {
  const auto complaint = [this](const std::string& bytes, Compression compression) {
    return std::string(error_of([&] { read(bytes, compression); }).what());
  };
  for (const auto& content : {std::string(), std::string("short"), random_bytes(500'000)})
    for (const bool gzip : {true, false}) {
      const auto kind = gzip ? Compression::gzip : Compression::zlib;
      const auto name = std::string(gzip ? "the gzip data" : "the zlib data");
      const auto good = test::compressed(content, gzip);
      const auto flipped = [&](std::size_t from_end) {
        auto bytes = good;
        bytes.at(bytes.size() - from_end) ^= 1;
        return bytes;
      };
      const auto behind = text(" after ", content.size(), " decompressed bytes");
      EXPECT_THAT(complaint(flipped(gzip ? 8 : 1), kind),
                  HasSubstr(name + " does not have the checksum that follows it" + behind));
      if (gzip) {
        EXPECT_THAT(complaint(flipped(1), kind),
                    HasSubstr(name + " does not have the length that follows it" + behind));
      }
      EXPECT_THAT(complaint(good.substr(0, good.size() - 1), kind),
                  HasSubstr(name + " is cut short" + behind));
      EXPECT_THAT(complaint(good.substr(0, 1), kind), HasSubstr(name + " is cut short"));
      EXPECT_THAT(complaint("rubbish", kind), HasSubstr(gzip ? "not gzip data" : "not zlib data"));
    }
  auto damaged = test::compressed(random_bytes(500'000), true);
  damaged.at(10) = '\xff';  // behind the header: a kind of block that there is not
  EXPECT_THAT(complaint(damaged, Compression::gzip), HasSubstr("the gzip data is damaged after "));
}

}  // namespace
}  // namespace troupe
