#include "troupe/actors/decoders/distort_decoder.h"

#include <set>

#include "actors/decoders/image_run.h"
#include "support/error_matcher.h"
#include "troupe/actors/decoders/image_decoder.h"

namespace troupe {
namespace {

using test::error_of;
using test::image_file;
using test::IsError;
using ::testing::HasSubstr;

std::vector<ImageStep> all_steps() {
  return {image::random_crop(8, 8),     image::random_flip_left_right(),  image::to_float(),
          image::random_brightness(60), image::random_contrast(0.2, 1.8), image::standardize()};
}

DistortDecoder distorting(std::uint64_t seed, std::vector<ImageStep> steps = all_steps()) {
  return {std::make_shared<ImageDecoder>(ImageDecoderOptions{.name = "pixels"}), std::move(steps),
          seed};
}

Tensor decode(DistortDecoder& decoder, const RecordRun& run, std::size_t i = 0) {
  Element element;
  decoder.decode(run, i, element);
  return element.at(0);
}

TEST(DistortDecoder, SaysWhatComesOutOfItsSteps) {
  const auto components = distorting(1).components();
  EXPECT_EQ(components.at(0).name, "pixels");
  EXPECT_EQ(components.at(0).spec, (TensorSpec{DType::float32, {8, 8, 3}}));
}

TEST(DistortDecoder, DependsOnTheRecordAndNotOnWhoDecodesItOrWhen) {
  const auto run =
      test::run_of({image_file("rgb.png"), image_file("rgb.png"), image_file("rgb.png")});
  auto one = distorting(7);
  auto other = distorting(7);
  const auto first = decode(one, run, 0);
  const auto second = decode(one, run, 1);
  EXPECT_EQ(decode(other, run, 1), second);
  EXPECT_EQ(decode(other, run, 0), first);
  EXPECT_FALSE(first == second);

  auto later = test::run_of({image_file("rgb.png")});  // as a block that begins there
  later.first_record = 2;
  EXPECT_EQ(decode(other, later), second);
}

TEST(DistortDecoder, DependsOnTheBytesAndNotOnWhereTheFileLies) {
  auto run = test::run_of({image_file("rgb.png")});
  auto decoder = distorting(7, {image::random_crop(8, 8)});
  const auto first = decode(decoder, run);
  for (const auto* path : {"/data/x", "../x", "y"}) {
    run.file = path;
    EXPECT_EQ(decode(decoder, run), first) << path;
  }
  // A comment behind the image: other bytes, the same pixels.
  std::set<std::string> crops;
  for (int i = 0; i < 20; ++i) {
    const auto crop = decode(decoder, test::run_of({image_file("rgb.png") + std::to_string(i)}));
    crops.emplace(reinterpret_cast<const char*>(crop.data()), crop.byte_size());
  }
  EXPECT_GT(crops.size(), 5u);
}

TEST(DistortDecoder, DistortsARecordAnewInEachEpochAndForEachSeed) {
  auto run = test::run_of({image_file("rgb.png")});
  auto decoder = distorting(7);
  auto reseeded = distorting(8);
  const auto first = decode(decoder, run);
  EXPECT_FALSE(decode(reseeded, run) == first);
  run.epoch = 1;
  EXPECT_FALSE(decode(decoder, run) == first);
}

TEST(DistortDecoder, DrawsForEachStepByItself) {
  const auto drawing = [](int numbers) {
    return ImageStep{"drawing()", [](const TensorSpec& spec) { return spec; },
                     [numbers](Tensor image, RandomStream& random) {
                       for (int i = 0; i < numbers; ++i) random.next();
                       return image;
                     }};
  };
  const auto run = test::run_of({image_file("rgb.png")});
  auto none = distorting(7, {drawing(0), image::random_crop(8, 8)});
  auto some = distorting(7, {drawing(3), image::random_crop(8, 8)});
  EXPECT_EQ(decode(none, run), decode(some, run));
}

TEST(DistortDecoder, ChangesTheFirstComponentOnly) {
  class Pair : public RecordDecoder {
   public:
    std::vector<QueueComponent> components() const override {
      return {{"image", {DType::float32, {2, 2, 1}}}, {"label", {DType::int64, {}}}};
    }
    void decode(const RecordRun&, std::size_t i, Element& element) override {
      element.push_back(Tensor(DType::float32, {2, 2, 1}));
      element.push_back(Tensor::scalar<std::int64_t>(static_cast<std::int64_t>(i)));
    }
  };
  DistortDecoder decoder(std::make_shared<Pair>(), {image::central_crop(1, 1)}, 1);
  EXPECT_EQ(decoder.components().at(1).spec, (TensorSpec{DType::int64, {}}));
  Element element{Tensor::scalar<float>(5)};  // of another stream
  decoder.decode(test::run_of({"a", "b"}), 1, element);
  ASSERT_EQ(element.size(), 3u);
  EXPECT_EQ(element[0], Tensor::scalar<float>(5));
  EXPECT_EQ(element[1].shape(), Shape({1, 1, 1}));
  EXPECT_EQ(element[2], Tensor::scalar<std::int64_t>(1));
}

TEST(DistortDecoder, NamesTheStepThatCannotTakeWhatComes) {
  EXPECT_THAT(error_of([] {
                distorting(1, {image::random_crop(8, 8), image::standardize()});
              }),
              IsError(Code::invalid_argument, HasSubstr("standardize(): needs float32")));
  auto decoder = distorting(1, {image::random_crop(24, 24)});
  EXPECT_THAT(error_of([&] { decode(decoder, test::run_of({image_file("rgb.png")})); }),
              IsError(Code::invalid_argument,
                      HasSubstr("x:1: random_crop(24, 24): the image is [19, 21, 3]")));
}

}  // namespace
}  // namespace troupe
