#include "troupe/actors/images/image_steps.h"

#include <set>

#include "support/check_reference.h"
#include "support/error_matcher.h"

namespace troupe {
namespace {

using test::error_of;
using test::expect_near;
using test::IsError;
using ::testing::HasSubstr;

/// Applies `work` to the image of each case that TensorFlow computed.
void check_images(const std::string& op,
                  const std::function<Tensor(const Tensor&, const test::ReferenceCase&)>& work) {
  int checked = 0;
  for (const auto& reference :
       test::read_references(std::string(TROUPE_TEST_DATA) + "/images.txt")) {
    if (reference.op != op) continue;
    const auto& wanted = reference.tensor("out0");
    expect_near(work(reference.tensor("in0"), reference), wanted, 1e-5, reference.name);
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

/// 0, 1, 2, ... in a [height, width, channels] image.
Tensor counting(std::int64_t height, std::int64_t width, std::int64_t channels = 1) {
  Tensor image(DType::float32, {height, width, channels});
  float next = 0;
  for (auto& value : image.write<float>()) value = next++;
  return image;
}

TEST(ImageOps, ResizeAsTensorFlow) {
  check_images("resize", [](const Tensor& image, const test::ReferenceCase& reference) {
    const auto& wanted = reference.tensor("out0").shape();
    const bool nearest = reference.attribute("method") == "nearest";
    return image::resize(
        image, wanted[0], wanted[1],
        {.interpolation = nearest ? image::Interpolation::nearest : image::Interpolation::bilinear,
         .half_pixel_centers = reference.flag("half_pixel_centers")});
  });
}

TEST(ImageOps, ChangeBrightnessAndContrastAsTensorFlow) {
  check_images("brightness", [](const Tensor& image, const test::ReferenceCase& reference) {
    return image::brighten(image, static_cast<float>(reference.number("delta")));
  });
  check_images("contrast", [](const Tensor& image, const test::ReferenceCase& reference) {
    return image::stretch(image, static_cast<float>(reference.number("factor")));
  });
}

TEST(ImageOps, StandardizeAsTensorFlow) {
  check_images("standardize",
               [](const Tensor& image, const auto&) { return image::standardize(image); });
}

TEST(ImageOps, CutOutTheMiddleAndMirrorAsTensorFlow) {
  check_images("center", [](const Tensor& image, const test::ReferenceCase& reference) {
    const auto& wanted = reference.tensor("out0").shape();
    return image::center(image, wanted[0], wanted[1]);
  });
  check_images("mirror", [](const Tensor& image, const auto&) { return image::mirror(image); });
}

TEST(ImageOps, LeaveImagesAloneThatSomebodyElseHolds) {
  const auto image = counting(2, 3);
  image::mirror(image);
  image::brighten(image, 1);
  image::stretch(image, 2);
  image::standardize(image);
  EXPECT_EQ(image, counting(2, 3));
}

TEST(ImageOps, RefuseARectangleThatIsNotInside) {
  EXPECT_EQ(image::crop(counting(3, 3), 1, 1, 2, 2), Tensor::of<float>({2, 2, 1}, {4, 5, 7, 8}));
  for (const auto& edge : {std::array{0, 0, 4, 1}, std::array{0, 2, 1, 2}, std::array{-1, 0, 1, 1},
                           std::array{0, 0, 0, 1}})
    EXPECT_THAT(error_of([&] { image::crop(counting(3, 3), edge[0], edge[1], edge[2], edge[3]); }),
                IsError(Code::invalid_argument, HasSubstr("the image is [3, 3, 1]: it has no")));
}

// ---- steps -----------------------------------------------------------------------------------

TEST(ImageSteps, CropEverywhereAlike) {
  const auto step = image::random_crop(2, 3);
  std::map<float, int> corners;
  RandomStream random(1);
  for (int i = 0; i < 6000; ++i) {
    const auto part = step.apply(counting(4, 4), random);
    ASSERT_EQ(part.shape(), Shape({2, 3, 1}));
    ++corners[part.read<float>()[0]];
  }
  EXPECT_EQ(corners.size(), 6u);  // three rows, two columns
  for (const auto& [corner, count] : corners) EXPECT_NEAR(count, 1000, 150) << corner;
}

TEST(ImageSteps, FlipOneImageInTwo) {
  RandomStream random(1);
  int flipped = 0;
  for (int i = 0; i < 4000; ++i)
    flipped += image::random_flip_left_right().apply(counting(1, 2), random).at(0) == 1 ? 1 : 0;
  EXPECT_NEAR(flipped, 2000, 150);
}

TEST(ImageSteps, DrawBrightnessAndContrastFromTheirWholeRange) {
  RandomStream random(1);
  const auto black = Tensor(DType::float32, {2, 2, 1});
  const auto pair = Tensor::of<float>({1, 2, 1}, {-1, 1});
  double least = 9, greatest = -9, weakest = 9, strongest = -9;
  for (int i = 0; i < 4000; ++i) {
    const auto delta = image::random_brightness(4).apply(black, random).at(3);
    const auto factor = image::random_contrast(0.2, 1.8).apply(pair, random).at(1);
    least = std::min(least, delta);
    greatest = std::max(greatest, delta);
    weakest = std::min(weakest, factor);
    strongest = std::max(strongest, factor);
  }
  EXPECT_NEAR(least, -4, 0.05);
  EXPECT_NEAR(greatest, 4, 0.05);
  EXPECT_NEAR(weakest, 0.2, 0.01);
  EXPECT_NEAR(strongest, 1.8, 0.01);
}

TEST(ImageSteps, SayWhatTheyMakeOfASpec) {
  const TensorSpec bytes{DType::uint8, {-1, -1, 3}};
  const TensorSpec floats{DType::float32, {32, 32, 3}};
  EXPECT_EQ(image::random_crop(24, 20).infer(bytes), (TensorSpec{DType::uint8, {24, 20, 3}}));
  EXPECT_EQ(image::central_crop(24, 20).infer(floats), (TensorSpec{DType::float32, {24, 20, 3}}));
  EXPECT_EQ(image::resize(8, 9).infer(bytes), (TensorSpec{DType::float32, {8, 9, 3}}));
  EXPECT_EQ(image::resize(8, 9, {.interpolation = image::Interpolation::nearest}).infer(bytes),
            (TensorSpec{DType::uint8, {8, 9, 3}}));
  EXPECT_EQ(image::to_float().infer(bytes), (TensorSpec{DType::float32, {-1, -1, 3}}));
  EXPECT_EQ(image::standardize().infer(floats), floats);
  EXPECT_EQ(image::random_flip_left_right().infer(bytes), bytes);
}

TEST(ImageSteps, RefuseWhatTheyCannotTake) {
  const TensorSpec bytes{DType::uint8, {-1, -1, 3}};
  EXPECT_THAT(error_of([&] { image::standardize().infer(bytes); }),
              IsError(Code::invalid_argument, HasSubstr("put image::to_float() in front")));
  EXPECT_THAT(error_of([&] {
                image::random_crop(24, 24).infer({DType::uint8, {20, 30, 3}});
              }),
              IsError(Code::invalid_argument, HasSubstr("only [20, 30, 3]")));
  EXPECT_THAT(error_of([&] { image::random_crop(0, 24); }),
              IsError(Code::invalid_argument, HasSubstr("random_crop(0, 24)")));
  EXPECT_THAT(error_of([&] { image::random_brightness(-1); }),
              IsError(Code::invalid_argument, HasSubstr("must be 0 or more")));
  EXPECT_THAT(error_of([&] { image::random_contrast(2, 1); }),
              IsError(Code::invalid_argument, HasSubstr("lower <= upper")));
}

}  // namespace
}  // namespace troupe
