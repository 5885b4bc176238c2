#include "troupe/actors/decoders/image_decoder.h"

#include <zlib.h>

#include "actors/decoders/image_run.h"
#include "support/check_reference.h"
#include "support/error_matcher.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using test::error_of;
using test::image_file;
using test::IsError;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Tensor decode(const std::string& bytes, const ImageDecoderOptions& options = {}) {
  ImageDecoder decoder(options);
  Element element;
  decoder.decode(test::run_of({bytes}), 0, element);
  return element.at(0);
}

Error failure(const std::string& bytes, const ImageDecoderOptions& options = {}) {
  return error_of([&] { decode(bytes, options); });
}

/// Calls check for each image that TensorFlow or Pillow decoded.
template <class Check>
void for_each_reference(Check check) {
  int checked = 0;
  for (const auto& reference :
       test::read_references(std::string(TROUPE_TEST_DATA) + "/images.txt")) {
    if (reference.op != "decode") continue;
    SCOPED_TRACE(reference.name);
    check(reference);
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

std::int64_t greatest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  std::int64_t greatest = 0;
  for (std::int64_t i = 0; i < std::min(a.size(), b.size()); ++i)
    greatest = std::max(greatest, static_cast<std::int64_t>(std::abs(a.at(i) - b.at(i))));
  return greatest;
}

TEST(ImageDecoder, GivesTheBytesThatTensorFlowAndPillowGive) {
  for_each_reference([](const test::ReferenceCase& reference) {
    for (const int channels : {1, 3, 4}) {
      const auto name = "channels" + std::to_string(channels);
      if (!reference.has(name)) continue;
      const auto image = decode(image_file(reference.name), {.channels = channels});
      EXPECT_EQ(image.dtype(), DType::uint8);
      // Four inks are rounded by us and cut off by TensorFlow.
      const int tolerance = reference.name == "cmyk.jpg" ? 1 : 0;
      EXPECT_LE(greatest_difference(image, reference.tensor(name)), tolerance) << name;
    }
  });
}

TEST(ImageDecoder, DecodesJpegAtTheSettingsThatTensorFlowHas) {
  for_each_reference([](const test::ReferenceCase& reference) {
    const auto check = [&](const std::string& name, const JpegOptions& jpeg) {
      if (!reference.has(name)) return;
      const auto image = decode(image_file(reference.name), {.jpeg = jpeg});
      EXPECT_EQ(greatest_difference(image, reference.tensor(name)), 0) << name;
    };
    check("fast", {.fast_dct = true, .fancy_upsampling = false});
    check("half", {.denominator = 2});
  });
}

TEST(ImageDecoder, MakesFloatsFromZeroToOne) {
  const auto bytes = decode(image_file("rgb.png"));
  const auto floats = decode(image_file("rgb.png"), {.dtype = DType::float32});
  ASSERT_EQ(floats.shape(), bytes.shape());
  for (std::int64_t i = 0; i < bytes.size(); ++i)
    ASSERT_FLOAT_EQ(static_cast<float>(floats.at(i)), static_cast<float>(bytes.at(i) / 255));
}

TEST(ImageDecoder, TakesTheChannelsOfTheFileWhenAsked) {
  const auto channels = [](const std::string& name) {
    return decode(image_file(name), {.channels = 0}).shape()[2];
  };
  EXPECT_EQ(channels("grey.jpg"), 1);
  EXPECT_EQ(channels("rgb.jpg"), 3);
  EXPECT_EQ(channels("cmyk.jpg"), 3);
  EXPECT_EQ(channels("bits.png"), 1);
  EXPECT_EQ(channels("palette.png"), 3);
  EXPECT_EQ(channels("transparent.png"), 4);
  EXPECT_EQ(channels("rgba.png"), 4);
}

TEST(ImageDecoder, AddsAnOpaqueFourthChannel) {
  for (const char* name : {"rgb.jpg", "grey.jpg", "cmyk.jpg", "grey.png", "rgb.png"}) {
    const auto image = decode(image_file(name), {.channels = 4});
    ASSERT_EQ(image.shape()[2], 4);
    for (std::int64_t i = 3; i < image.size(); i += 4) ASSERT_EQ(image.at(i), 255) << name;
  }
}

TEST(ImageDecoder, SaysWhatItsImagesLookLike) {
  const auto spec = [](const ImageDecoderOptions& options) {
    return ImageDecoder(options).components().at(0).spec;
  };
  EXPECT_EQ(spec({}), (TensorSpec{DType::uint8, {-1, -1, 3}}));
  EXPECT_EQ(spec({.dtype = DType::float32, .height = 4, .width = 5, .channels = 1}),
            (TensorSpec{DType::float32, {4, 5, 1}}));
  EXPECT_EQ(spec({.channels = 0}), (TensorSpec{DType::uint8, {-1, -1, -1}}));
}

TEST(ImageDecoder, WantsImagesOfTheSizeThatWasPromised) {
  EXPECT_EQ(decode(image_file("rgb.png"), {.height = 19, .width = 21}).shape(), Shape({19, 21, 3}));
  EXPECT_THAT(failure(image_file("rgb.png"), {.height = 32, .width = 32}),
              IsError(Code::invalid_argument,
                      HasSubstr("x:1: the image is [19, 21, 3], but [32, 32, 3] is wanted")));
}

TEST(ImageDecoder, NamesRecordsThatAreNoImages) {
  EXPECT_THAT(failure(""), IsError(Code::data_loss, "x:1: the file is empty"));
  EXPECT_THAT(failure("GIF89a"), IsError(Code::data_loss,
                                         "x:1: not a JPEG or PNG image: it begins with the bytes "
                                         "47 49 46 38"));
  EXPECT_THAT(failure("\xFF\xD8"), IsError(Code::data_loss, HasSubstr("bytes FF D8")));
}

TEST(ImageDecoder, RefusesWhatItCannotDo) {
  const auto making = [](const ImageDecoderOptions& options) {
    return error_of([&] { ImageDecoder decoder(options); });
  };
  EXPECT_THAT(making({.dtype = DType::int64}),
              IsError(Code::invalid_argument, HasSubstr("not to int64")));
  EXPECT_THAT(making({.channels = 2}), IsError(Code::invalid_argument, HasSubstr("but 2 were")));
  EXPECT_THAT(making({.height = 0}), IsError(Code::invalid_argument, HasSubstr("at least 1")));
  EXPECT_THAT(making({.jpeg = {.denominator = 3}}),
              IsError(Code::invalid_argument, HasSubstr("1, 2, 4 or 8, not 3")));
}

// ---- hostile bytes ---------------------------------------------------------------------------

TEST(ImageDecoder, NoticesFilesThatAreCutShort) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "grey.jpg", "rgb.png", "interlaced.png"}) {
    const auto whole = image_file(name);
    for (std::size_t length = 8; length + 2 < whole.size(); ++length)
      ASSERT_THAT(failure(whole.substr(0, length)),
                  IsError(Code::data_loss, StartsWith("x:1: damaged ")))
          << name << " cut to " << length << " of " << whole.size() << " bytes";
  }
}

TEST(ImageDecoder, KeepsTheUpperPartOfADamagedJpegWhenAllowed) {
  const auto whole = image_file("full.jpg");
  const auto image = decode(whole.substr(0, whole.size() - 100), {.jpeg = {.allow_damaged = true}});
  const auto wanted = decode(whole);
  ASSERT_EQ(image.shape(), wanted.shape());
  EXPECT_EQ(image.slice(0, 8), wanted.slice(0, 8));
}

/// An image of zeros that promises to be this large.
std::string png_of_size(std::uint32_t width, std::uint32_t height) {
  auto bytes = image_file("rgb.png");
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, width);
  put(20, height);
  put(29,
      static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()) + 12, 17)));
  return bytes;
}

std::string jpeg_of_size(std::uint16_t width, std::uint16_t height) {
  auto bytes = image_file("rgb.jpg");
  const auto frame = bytes.find("\xFF\xC0");
  for (int i = 0; i < 2; ++i) {
    bytes[frame + 5 + i] = static_cast<char>(height >> (8 - 8 * i));
    bytes[frame + 7 + i] = static_cast<char>(width >> (8 - 8 * i));
  }
  return bytes;
}

TEST(ImageDecoder, TakesNoMemoryForAbsurdPromises) {
  for (const auto& bytes : {png_of_size(0x7FFFFFFF, 0x7FFFFFFF), png_of_size(1 << 20, 1 << 20),
                            jpeg_of_size(65'500, 65'500)})
    EXPECT_THAT(failure(bytes), IsError(Code::resource_exhausted,
                                        AllOf(HasSubstr("x:1: the image has "),
                                              HasSubstr("ImageDecoderOptions::max_pixels"))));
  EXPECT_THAT(failure(image_file("rgb.png"), {.max_pixels = 19 * 21 - 1}),
              IsError(Code::resource_exhausted, HasSubstr("19 x 21 pixels")));
  EXPECT_EQ(decode(image_file("rgb.png"), {.max_pixels = 19 * 21}).size(), 19 * 21 * 3);
  EXPECT_THAT(failure(png_of_size(0, 5)), IsError(Code::data_loss, HasSubstr("damaged PNG")));
  EXPECT_THAT(failure(jpeg_of_size(0, 5)), IsError(Code::data_loss, HasSubstr("damaged JPEG")));
}

TEST(ImageDecoder, GivesUpOnAJpegThatRepeatsItsScans) {
  auto bytes = image_file("progressive.jpg");
  const auto scan = bytes.find("\xFF\xDA");
  auto end = scan + 2;
  while (bytes[end] != '\xFF' || bytes[end + 1] == '\0') ++end;
  const auto one = bytes.substr(scan, end - scan);
  std::string many;
  for (int i = 0; i < 300; ++i) many += one;
  EXPECT_THAT(failure(bytes.insert(scan, many)),
              IsError(Code::data_loss, HasSubstr("more than 200 scans")));
}

TEST(ImageDecoder, SurvivesRandomDamage) {
  RandomStream random(1);
  ImageDecoder decoder({.channels = 1});
  ImageDecoder coloured({.channels = 4, .jpeg = {.allow_damaged = true}});
  int failures = 0;
  for (const char* name : {"rgb.jpg", "progressive.jpg", "cmyk.jpg", "palette.png", "rgba.png",
                           "grey16.png", "interlaced.png"})
    for (int round = 0; round < 300; ++round) {
      auto bytes = image_file(name);
      for (auto changes = 1 + random.below(4); changes > 0; --changes)
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      const auto run = test::run_of({bytes, image_file("rgb.png")});
      for (auto* d : {&decoder, &coloured}) {
        Element element;
        try {
          d->decode(run, 0, element);
        } catch (const Error& error) {
          ++failures;
          EXPECT_THAT(error.what(), StartsWith("x:1: "));
        }
        d->decode(run, 1, element);  // the next record is none the worse for it
      }
    }
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace troupe
