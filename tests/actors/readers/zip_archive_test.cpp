#include "troupe/actors/readers/zip_archive.h"

#include "support/error_matcher.h"
#include "support/temporary_directory.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;

const std::string kStored = TROUPE_TEST_DATA "/arrays/stored.npz";
const std::string kDeflated = TROUPE_TEST_DATA "/arrays/deflated.npz";

class ZipArchiveTest : public ::testing::Test {
 protected:
  std::string file(const std::string& bytes) {
    test::write_file(directory / "x.zip", bytes);
    return directory / "x.zip";
  }
  /// A copy of an archive with `bytes` written over it at `offset` from its end.
  std::string changed(const std::string& archive, std::size_t from_end, const std::string& bytes) {
    auto copy = test::read_file(archive);
    copy.replace(copy.size() - from_end, bytes.size(), bytes);
    return file(copy);
  }
  static std::string all(const std::string& path, const std::string& member) {
    ZipMemberStream stream(path, find_zip_member(path, member), path + "/" + member);
    std::string bytes(*stream.size(), '\0');
    EXPECT_EQ(stream.read(bytes.data(), bytes.size()), bytes.size());
    return bytes;
  }
  test::TemporaryDirectory directory;
};

TEST_F(ZipArchiveTest, ListsItsMembers) {
  const auto members = read_zip_directory(kDeflated);
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[1].name, "labels.npy");
  EXPECT_TRUE(members[1].deflated);
  EXPECT_EQ(members[1].size, 128u + 12 * 8);
  EXPECT_FALSE(read_zip_directory(kStored)[0].deflated);
}

TEST_F(ZipArchiveTest, GivesTheSameBytesStoredOrDeflated) {
  for (const auto* member : {"images.npy", "labels.npy", "short.npy"})
    EXPECT_EQ(all(kStored, member), all(kDeflated, member)) << member;
}

TEST_F(ZipArchiveTest, GoesOnFromAnyByte) {
  for (const auto& path : {kStored, kDeflated}) {
    const auto whole = all(path, "labels.npy");
    ZipMemberStream stream(path, find_zip_member(path, "labels.npy"), "labels");
    for (const std::size_t offset : {200, 10, 0, 224, 100}) {
      stream.seek(offset);
      EXPECT_EQ(stream.offset(), offset);
      std::string rest(whole.size(), '\0');
      rest.resize(stream.read(rest.data(), rest.size()));
      EXPECT_EQ(rest, whole.substr(offset)) << path << " from " << offset;
    }
    EXPECT_THAT(error_of([&] { stream.seek(225); }),
                IsError(Code::data_loss, "labels: cannot go on at byte 225: there are 224"));
  }
}

TEST_F(ZipArchiveTest, IsReadWithACommentAtItsEnd) {
  auto bytes = test::read_file(kStored);
  const std::string comment = "made for a test";
  bytes[bytes.size() - 2] = static_cast<char>(comment.size());
  EXPECT_EQ(read_zip_directory(file(bytes + comment)).size(), 3u);
}

TEST_F(ZipArchiveTest, KnowsZip64) {
  // The end record points at a Zip64 record when its own numbers are all ones.
  auto bytes = test::read_file(kStored);
  const auto end = bytes.size() - 22;
  const auto number = [&](std::size_t at, std::size_t width) {
    std::uint64_t value = 0;
    for (auto i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  const auto put = [](std::uint64_t value, std::size_t width) {
    std::string written;
    for (std::size_t i = 0; i < width; ++i) written += static_cast<char>(value >> 8 * i);
    return written;
  };
  const auto record = std::string("PK\x06\x06") + put(44, 8) + put(45, 2) + put(45, 2) + put(0, 4) +
                      put(0, 4) + put(number(end + 10, 2), 8) + put(number(end + 10, 2), 8) +
                      put(number(end + 12, 4), 8) + put(number(end + 16, 4), 8);
  const auto locator = std::string("PK\x06\x07") + put(0, 4) + put(end, 8) + put(1, 4);
  const auto last = std::string("PK\x05\x06") + put(0, 4) + put(0xFFFF, 2) + put(0xFFFF, 2) +
                    put(0xFFFFFFFF, 4) + put(0xFFFFFFFF, 4) + put(0, 2);
  const auto path = file(bytes.substr(0, end) + record + locator + last);
  EXPECT_EQ(read_zip_directory(path).size(), 3u);
  EXPECT_EQ(all(path, "labels.npy"), all(kStored, "labels.npy"));
}

TEST_F(ZipArchiveTest, NoticesDamagedBytes) {
  for (const auto& path : {kStored, kDeflated}) {
    auto bytes = test::read_file(path);
    const auto member = find_zip_member(path, "images.npy");
    bytes[member.header_offset + 30 + 10 + 20 + member.stored_size - 5] ^= 1;
    EXPECT_THAT(error_of([&] { all(file(bytes), "images.npy"); }),
                IsError(Code::data_loss, HasSubstr("x.zip/images.npy: damaged member of a zip "
                                                   "archive: ")));
  }
}

TEST_F(ZipArchiveTest, RefusesWhatIsNotAWholeArchive) {
  const auto whole = test::read_file(kStored);
  EXPECT_THAT(error_of([&] { read_zip_directory(file("")); }),
              IsError(Code::data_loss, HasSubstr("it has only 0 bytes")));
  EXPECT_THAT(error_of([&] { read_zip_directory(file(std::string(1000, 'x'))); }),
              IsError(Code::data_loss, HasSubstr("it has no directory at its end")));
  EXPECT_THAT(error_of([&] { read_zip_directory(file(whole.substr(0, whole.size() - 1))); }),
              IsError(Code::data_loss, HasSubstr("it has no directory at its end")));
  EXPECT_THAT(error_of([&] { read_zip_directory(file(whole.substr(100))); }),
              IsError(Code::data_loss, HasSubstr("not a whole zip archive")));
  EXPECT_THAT(error_of([&] { read_zip_directory(changed(kStored, 12, "\x04")); }),
              IsError(Code::data_loss, HasSubstr("it promises 4 members, but lists 3")));
  EXPECT_THAT(error_of([&] { read_zip_directory(changed(kStored, 10, "\xFF\xFF\xFF\x7F")); }),
              IsError(Code::data_loss, HasSubstr("2147483647 bytes from byte ")));
}

TEST_F(ZipArchiveTest, RefusesMembersThatItCannotRead) {
  auto bytes = test::read_file(kStored);
  const auto entry = bytes.find("PK\x01\x02");
  auto encrypted = bytes;
  encrypted[entry + 8] |= 1;
  EXPECT_THAT(error_of([&] { read_zip_directory(file(encrypted)); }),
              IsError(Code::unimplemented, HasSubstr("member 'images.npy' is encrypted")));
  auto other = bytes;
  other[entry + 10] = 14;
  EXPECT_THAT(error_of([&] { read_zip_directory(file(other)); }),
              IsError(Code::unimplemented, HasSubstr("compressed with method 14; 0 (stored)")));
}

}  // namespace
}  // namespace troupe
