#include "troupe/messages/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace troupe {
namespace {

std::string counting(int first, int step) {
  std::string bytes(32, '\0');
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<char>(first + step * i);
  return bytes;
}

TEST(Crc32c, GivesTheAnswersOfRfc3720) {  // appendix B.4
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(counting(0, 1)), 0x46dd794eu);
  EXPECT_EQ(crc32c(counting(31, -1)), 0x113fdb5cu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, IsTheSameWithAndWithoutTheInstruction) {
  std::string bytes(1000, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  for (std::size_t offset = 0; offset < 9; ++offset)
    for (std::size_t size = 0; size < 40; ++size)
      ASSERT_EQ(crc32c(bytes.data() + offset, size), crc32c_portable(bytes.data() + offset, size))
          << size << " bytes from " << offset;
  EXPECT_EQ(crc32c(bytes), crc32c_portable(bytes.data(), bytes.size()));
}

TEST(Crc32c, ContinuesFromTheBytesBefore) {
  const std::string all = "an actor keeps what it was told";
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    const auto first = crc32c(all.data(), cut);
    EXPECT_EQ(crc32c(all.data() + cut, all.size() - cut, first), crc32c(all)) << cut;
  }
}

TEST(Crc32c, MasksAsRecordFilesDo) {
  // The length field of a 24-byte record, as TensorFlow writes it: 24, then its masked checksum.
  const std::string length("\x18\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(mask_crc32c(crc32c(length)), 0x224b7fa3u);
  EXPECT_EQ(unmask_crc32c(mask_crc32c(0x12345678u)), 0x12345678u);
}

}  // namespace
}  // namespace troupe
