#include "troupe/actors/decoders/cifar10_decoder.h"

#include "actors/decoders/image_run.h"
#include "support/error_matcher.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;

/// Red is 1, green 2, blue 3, but for the second pixel of the first row.
std::string record(char label) {
  std::string bytes(1, label);
  for (const char colour : {1, 2, 3}) bytes += std::string(32 * 32, colour);
  bytes[1 + 1] = '\x64';
  bytes[1 + 32 * 32 + 1] = '\xC8';
  bytes[1 + 2 * 32 * 32 + 1] = '\xFF';
  return bytes;
}

TEST(Cifar10Decoder, PutsTheColoursOfAPixelSideBySide) {
  for (const auto dtype : {DType::float32, DType::uint8}) {
    Cifar10Decoder decoder(dtype);
    Element element;
    decoder.decode(test::run_of({record(7)}), 0, element);
    ASSERT_EQ(element.size(), 2u);
    EXPECT_EQ(element[1], Tensor::scalar<std::int64_t>(7));
    ASSERT_EQ(element[0].shape(), Shape({32, 32, 3}));
    EXPECT_EQ(element[0].dtype(), dtype);
    const auto pixels = element[0].reshape({32 * 32, 3});
    EXPECT_EQ(pixels.slice(0, 3).cast(DType::float32),
              Tensor::of<float>({3, 3}, {1, 2, 3, 100, 200, 255, 1, 2, 3}));
  }
}

TEST(Cifar10Decoder, SaysWhatItsElementsLookLike) {
  const auto components = Cifar10Decoder().components();
  EXPECT_EQ(components.at(0).spec, (TensorSpec{DType::float32, {32, 32, 3}}));
  EXPECT_EQ(components.at(1).spec, (TensorSpec{DType::int64, {}}));
}

TEST(Cifar10Decoder, RefusesWhatIsNoCifar10) {
  const auto failure = [](const std::string& bytes) {
    return error_of([&] {
      Element element;
      Cifar10Decoder().decode(test::run_of({bytes}), 0, element);
    });
  };
  EXPECT_THAT(failure(record(10)),
              IsError(Code::data_loss, "x:1: the label is 10, but there are classes 0 to 9"));
  EXPECT_THAT(failure(record('\xFF')), IsError(Code::data_loss, HasSubstr("the label is 255")));
  EXPECT_THAT(failure("ab"), IsError(Code::data_loss, HasSubstr("3073 bytes, but this has 2")));
  EXPECT_THAT(error_of([] { Cifar10Decoder decoder(DType::int32); }),
              IsError(Code::invalid_argument, HasSubstr("not to int32")));
}

}  // namespace
}  // namespace troupe
