#include "troupe/actors/pipeline/images.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/decoders/cifar10_decoder.h"
#include "troupe/actors/pipeline/batch_iterator.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImagePipeline : public ::testing::Test {
 protected:
  /// Five images in two classes, named after what they hold.
  ImagePipeline() {
    const std::string from = std::string(TROUPE_TEST_DATA) + "/images/";
    const std::vector<std::pair<std::string, std::string>> files = {{"jpeg", "rgb.jpg"},
                                                                    {"jpeg", "full.jpg"},
                                                                    {"png", "rgb.png"},
                                                                    {"png", "palette.png"},
                                                                    {"png", "interlaced.png"}};
    for (const auto& [folder, name] : files) {
      std::filesystem::create_directories(directory / folder);
      std::filesystem::copy_file(from + name, directory / folder + "/" + name);
    }
  }

  /// All images and labels, in the order of the records.
  static std::vector<std::pair<Tensor, std::int64_t>> all(const Examples& examples) {
    std::vector<std::pair<Tensor, std::int64_t>> found;
    BatchIterator batches(examples.buffer(4).batch(1, Remainder::keep), {2, 1});
    while (const auto batch = batches.next())
      found.emplace_back(batch->components.at(0),
                         static_cast<std::int64_t>(batch->components.at(1).item()));
    return found;
  }
  test::TemporaryDirectory directory;
};

TEST_F(ImagePipeline, ReadsAFolder) {
  const auto records = read_image_folder(directory.path());
  EXPECT_EQ(records.count(), 5);
  EXPECT_THAT(image_classes(directory.path()), ElementsAre("jpeg", "png"));
  std::map<std::int64_t, int> labels;
  for (const auto& [image, label] : all(records.decode({images(), image_labels()}))) {
    EXPECT_EQ(image.dtype(), DType::uint8);
    EXPECT_EQ(image.shape(), Shape({1, 19, 21, 3}));
    ++labels[label];
  }
  EXPECT_THAT(labels, ElementsAre(std::pair(0, 2), std::pair(1, 3)));
}

TEST_F(ImagePipeline, ReadsAList) {
  test::write_file(directory / "list.txt", "png/rgb.png 4\njpeg/rgb.jpg 9\n");
  const auto found =
      all(read_image_list(directory / "list.txt").decode({images(), image_labels()}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].second, 4);
  EXPECT_EQ(found[1].second, 9);
}

TEST_F(ImagePipeline, DistortsAlikeWithAnyNumberOfDecodersAndAnewInEachEpoch) {
  const auto run = [&](int decoders, std::size_t block) {
    DecodeOptions options;
    options.decoders = decoders;
    options.block_records = block;
    const std::vector<ImageStep> steps{image::random_crop(12, 12), image::to_float(),
                                       image::random_flip_left_right(),
                                       image::random_brightness(20)};
    return all(read_image_folder(directory.path())
                   .repeat(2, 3)
                   .decode({distort(images(), steps, 11), image_labels()}, options));
  };
  const auto one = run(1, 64);
  ASSERT_EQ(one.size(), 10u);
  EXPECT_TRUE(one == run(3, 1));
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 5; j < 10; ++j) EXPECT_FALSE(one[i].first == one[j].first);
}

TEST_F(ImagePipeline, NamesTheFileThatIsNoImage) {
  test::write_file(directory / "png/bad.png", "nothing");
  EXPECT_THAT(error_of([&] {
                all(read_image_folder(directory.path()).decode({images(), image_labels()}));
              }),
              IsError(Code::data_loss, HasSubstr("png/bad.png: not a JPEG or PNG image")));
}

class Cifar10Pipeline : public ::testing::Test {
 protected:
  /// Images of one value each, which is also the label.
  void write(const std::string& name, const std::string& values) {
    std::string bytes;
    for (const char value : values) bytes += std::string(Cifar10Decoder::kRecordBytes, value);
    test::write_file(directory / name, bytes);
  }
  test::TemporaryDirectory directory;
};

TEST_F(Cifar10Pipeline, ReadsTheFilesOfAPattern) {
  write("data_batch_1.bin", "\1\2");
  write("data_batch_2.bin", "\3");
  write("test_batch.bin", "\4");
  const auto records = read_cifar10({directory / "data_batch_*.bin"});
  EXPECT_EQ(records.count(), 3);
  BatchIterator batches(records.decode({cifar10()}).buffer(8).batch(3, Remainder::drop), {2, 1});
  const auto batch = batches.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->components.at(0).shape(), Shape({3, 32, 32, 3}));
  EXPECT_EQ(batch->components.at(0).at(32 * 32 * 3), 2);
  EXPECT_EQ(batch->components.at(1), Tensor::of<std::int64_t>({3}, {1, 2, 3}));
}

TEST_F(Cifar10Pipeline, GivesTheNetworkTwentyFourPixelsEachWay) {
  write("x.bin", "\1\2");
  for (const bool training : {true, false}) {
    const auto batches = read_cifar10({directory / "x.bin"})
                             .decode({distort(cifar10(), cifar10_steps(training), 1)})
                             .buffer(8)
                             .batch(2, Remainder::drop);
    EXPECT_EQ(batches.components().at(0), (TensorSpec{DType::float32, {24, 24, 3}}));
    BatchIterator iterator(batches, {2, 1});
    const auto batch = iterator.next();
    ASSERT_TRUE(batch);
    for (const float value : batch->components.at(0).read<float>())
      ASSERT_NEAR(value, 0, 1e-3);  // one colour has no deviation to divide by
  }
}

TEST_F(Cifar10Pipeline, NoticesAFileThatIsCutShort) {
  test::write_file(directory / "x.bin", std::string(Cifar10Decoder::kRecordBytes + 5, '\1'));
  EXPECT_THAT(error_of([&] {
                BatchIterator batches(read_cifar10({directory / "x.bin"})
                                          .decode({cifar10()})
                                          .buffer(8)
                                          .batch(1, Remainder::keep),
                                      {2, 1});
                while (batches.next()) {
                }
              }),
              IsError(Code::data_loss, HasSubstr("x.bin")));
}

}  // namespace
}  // namespace troupe
