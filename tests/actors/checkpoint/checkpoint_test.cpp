#include "troupe/actors/checkpoint/checkpoint.h"

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/checkpoint/checkpoint_writer.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TensorRecord variable(const std::string& name, float value) {
  return {name, TensorKind::variable, "", "", Tensor::of<float>({2}, {value, value})};
}

class CheckpointTest : public testing::Test {
 protected:
  /// A checkpoint of two shards: w in the first, b and its momentum in the second.
  void save(std::int64_t step, const std::string& directory) {
    CheckpointWriter writer(directory);
    const auto value = static_cast<float>(step);
    Manifest manifest;
    manifest.step = step;
    manifest.files.push_back(write_shard(directory, step, 0, 2, {variable("w", value)}));
    manifest.files.push_back(write_shard(
        directory, step, 1, 2,
        {variable("b", value + 1),
         {"b/momentum", TensorKind::slot, "b", "momentum", Tensor::of<float>({1}, {value})}}));
    manifest.state["reader"] = std::string("\0\xff", 2);
    manifest.metrics["test/loss"] = 0.5;
    manifest.epoch = 1.5;
    writer.publish(manifest);
  }
  void save(std::int64_t step) { save(step, directory.path()); }

  Error refusal(const std::string& path) {
    return error_of([&] { Checkpoint::open(path).verify(); });
  }
  std::string file(std::int64_t step, int shard) {
    return directory / text("ckpt-", step, ".shard-", shard, "-of-2.safetensors");
  }
  /// Flips one bit, counted from the end.
  void damage(const std::string& path, std::size_t from_end) {
    auto bytes = test::read_file(path);
    bytes.at(bytes.size() - 1 - from_end) ^= 1;
    test::write_file(path, bytes);
  }

  test::TemporaryDirectory directory;
};
using Checkpoints = CheckpointTest;

TEST_F(Checkpoints, GiveBackWhatWasSaved) {
  save(7);
  const auto checkpoint = Checkpoint::open(directory.path());
  EXPECT_EQ(checkpoint.step(), 7);
  EXPECT_EQ(checkpoint.name(), directory / "ckpt-7");
  EXPECT_EQ(checkpoint.manifest().epoch, 1.5);
  EXPECT_EQ(checkpoint.manifest().state.at("reader"), std::string("\0\xff", 2));
  EXPECT_EQ(checkpoint.manifest().metrics.at("test/loss"), 0.5);
  EXPECT_NE(checkpoint.manifest().time, std::chrono::system_clock::time_point{});
  EXPECT_EQ(checkpoint.read("w"), Tensor::of<float>({2}, {7, 7}));
  EXPECT_EQ(checkpoint.entry("b/momentum").kind, TensorKind::slot);
  EXPECT_EQ(checkpoint.entry("b/momentum").variable, "b");

  const auto all = checkpoint.read_all();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].name, "b/momentum");
  EXPECT_EQ(all[2].slot, "momentum");
  EXPECT_EQ(all[2].value, Tensor::of<float>({1}, {7}));
}

TEST_F(Checkpoints, AreNamedByDirectoryManifestOrPrefix) {
  save(7);
  save(30);
  save(200);
  EXPECT_EQ(Checkpoint::open(directory.path()).step(), 200);
  EXPECT_EQ(Checkpoint::open(directory.path() + "/").step(), 200);
  EXPECT_EQ(Checkpoint::open(directory / "ckpt-30.manifest").step(), 30);
  EXPECT_EQ(Checkpoint::open(directory / "ckpt-30").step(), 30);
  EXPECT_EQ(CheckpointDirectory(directory.path()).open(7).step(), 7);
}

TEST_F(Checkpoints, SurviveThatTheirDirectoryMoves) {
  const auto before = directory / "before";
  const auto after = directory / "after";
  std::filesystem::create_directory(before);
  save(7, before);
  std::filesystem::rename(before, after);
  Checkpoint::open(after).verify();
  EXPECT_EQ(Checkpoint::open(after).read("w").at(0), 7);
}

TEST_F(Checkpoints, SayWhatWasGivenAndWhatIsExpected) {
  EXPECT_THAT(refusal(""), IsError(Code::invalid_argument, HasSubstr("no checkpoint is named")));
  EXPECT_THAT(refusal(directory.path()),
              IsError(Code::not_found, HasSubstr(directory.path() + " has no checkpoint")));
  EXPECT_THAT(refusal(directory / "no/ckpt-1"),
              IsError(Code::not_found, HasSubstr("there is no directory " + directory / "no")));
  save(7);
  save(8);
  EXPECT_THAT(refusal(directory / "ckpt-9"),
              IsError(Code::not_found, HasSubstr("there is ckpt-7, ckpt-8")));
  EXPECT_THAT(refusal(file(7, 1)),
              IsError(Code::invalid_argument,
                      AllOf(HasSubstr("weights of one shard"), HasSubstr(directory / "ckpt-7"))));
  test::write_file(directory / "model.pt", "PK");
  EXPECT_THAT(refusal(directory / "model.pt"),
              IsError(Code::invalid_argument,
                      AllOf(HasSubstr("model.pt is not a checkpoint"), HasSubstr("expected"))));
}

TEST_F(Checkpoints, SayWhichTensorsTheyHave) {
  save(7);
  EXPECT_THAT(error_of([&] { Checkpoint::open(directory.path()).read("v"); }),
              IsError(Code::not_found, HasSubstr("no tensor 'v'; it has: b, b/momentum, w")));
}

TEST_F(Checkpoints, AreRefusedWhenAValueWasAltered) {
  save(7);
  damage(file(7, 2), 0);  // b stands first in the file, b/momentum last
  const auto checkpoint = Checkpoint::open(directory.path());
  EXPECT_EQ(checkpoint.read("b").at(0), 8);
  EXPECT_THAT(error_of([&] { checkpoint.read("b/momentum"); }),
              IsError(Code::data_loss,
                      AllOf(HasSubstr(file(7, 2)), HasSubstr("tensor 'b/momentum' is damaged"),
                            HasSubstr("no older checkpoint"))));
}

TEST_F(Checkpoints, AreRefusedWhenAFileIsCutShortOrMissing) {
  save(7);
  std::filesystem::resize_file(file(7, 1), std::filesystem::file_size(file(7, 1)) - 1);
  EXPECT_THAT(refusal(directory.path()), IsError(Code::data_loss, HasSubstr(file(7, 1))));
  std::filesystem::remove(file(7, 1));
  EXPECT_THAT(refusal(directory.path()),
              IsError(Code::data_loss, AllOf(HasSubstr(file(7, 1)), HasSubstr("is missing"))));
}

TEST_F(Checkpoints, AreRefusedWhenAFileBelongsToAnother) {
  save(7);
  CheckpointWriter writer(directory.path());
  Manifest other;
  other.step = 8;
  other.files = {write_shard(directory.path(), 8, 0, 1, {variable("v", 1)})};
  writer.publish(other);
  std::filesystem::copy_file(directory / "ckpt-8.shard-1-of-1.safetensors", file(7, 1),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(directory / "ckpt-7"),
              IsError(Code::data_loss, AllOf(HasSubstr(file(7, 1)), HasSubstr("tensor 'w'"))));
}

TEST_F(Checkpoints, AreRefusedWhenTheManifestIsDamagedAnywhere) {
  save(7);
  const auto manifest = directory / "ckpt-7.manifest";
  const auto whole = test::read_file(manifest);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    damage(manifest, i);
    ASSERT_THAT(refusal(manifest), IsError(Code::data_loss, HasSubstr(manifest))) << "byte " << i;
    test::write_file(manifest, whole.substr(0, i));
    ASSERT_THAT(refusal(manifest), IsError(Code::data_loss, HasSubstr(manifest))) << i << " bytes";
    test::write_file(manifest, whole);
  }
}

TEST_F(Checkpoints, OfferTheNewestOlderOneThatIsWhole) {
  for (const int step : {1, 2, 3, 4}) save(step);
  damage(file(4, 1), 0);
  damage(file(3, 2), 3);
  EXPECT_THAT(refusal(directory.path()),
              IsError(Code::data_loss,
                      AllOf(HasSubstr(file(4, 1)), HasSubstr("the checkpoint before it is whole: " +
                                                             directory / "ckpt-2"))));
  std::filesystem::resize_file(directory / "ckpt-4.manifest", 10);
  EXPECT_THAT(refusal(directory.path()),
              IsError(Code::data_loss, HasSubstr("before it is whole: " + directory / "ckpt-2")));
}

TEST_F(Checkpoints, HaveManifestsThatNameOnlyFilesBesideThem) {
  for (const auto* name : {"../x.safetensors", "/etc/passwd", "..", ""}) {
    Manifest manifest;
    manifest.files = {{name, 0, {}}};
    EXPECT_THAT(error_of([&] { decode_manifest(encode_manifest(manifest), "m"); }),
                IsError(Code::data_loss, HasSubstr("is not the name of a file beside")));
  }
}

TEST_F(Checkpoints, OfferAnOlderOneWhereAFolderHasTheNameOfAManifest) {
  save(1);
  std::filesystem::create_directory(directory / "ckpt-2.manifest");
  for (const auto* path : {"", "/ckpt-2", "/ckpt-2.manifest"})
    EXPECT_THAT(refusal(directory.path() + path),
                IsError(Code::data_loss,
                        AllOf(HasSubstr("ckpt-2.manifest is a directory instead of a manifest"),
                              HasSubstr("before it is whole: " + directory / "ckpt-1"))))
        << path;
  std::filesystem::create_directory(directory / "ckpt-1.manifest.d");
  EXPECT_EQ(Checkpoint::open(directory / "ckpt-1").step(), 1);
}

}  // namespace
}  // namespace troupe
