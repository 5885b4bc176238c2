#include "troupe/actors/checkpoint/checkpoint_writer.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Writes and publishes a checkpoint of two shards, all values `value`.
void save(CheckpointWriter& writer, std::int64_t step, float value) {
  const auto shard = [&](int index, const std::string& name) {
    return write_shard(
        writer.directory(), step, index, 2,
        {{name, TensorKind::variable, "", "", Tensor::filled(DType::float32, {3}, value)}});
  };
  Manifest manifest;
  manifest.step = step;
  manifest.files = {shard(0, "w"), shard(1, "b")};
  writer.publish(manifest);
}
void save(CheckpointWriter& writer, std::int64_t step) {
  save(writer, step, static_cast<float>(step));
}

class CheckpointWriting : public testing::Test {
 protected:
  std::vector<std::int64_t> steps() { return CheckpointDirectory(directory).list(); }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(directory))
      names.push_back(file.path().filename().string());
    return names;
  }

  test::TemporaryDirectory temporary;
  const std::string directory = temporary / "run";
};

TEST_F(CheckpointWriting, PublishesWithTheManifest) {
  CheckpointWriter writer(directory);
  const auto file =
      write_shard(directory, 5, 0, 1, {{"w", TensorKind::variable, "", "", Tensor::scalar(1.0f)}});
  EXPECT_EQ(file.name, "ckpt-5.shard-1-of-1.safetensors");
  EXPECT_THAT(steps(), IsEmpty());
  Manifest manifest;
  manifest.step = 5;
  manifest.files = {file};
  writer.publish(manifest);
  EXPECT_THAT(steps(), ElementsAre(5));
}

TEST_F(CheckpointWriting, RefusesWhatNoReaderWouldTake) {
  CheckpointWriter writer(directory);
  const TensorRecord record{"w", TensorKind::variable, "", "", Tensor::scalar(1.0f)};
  Manifest manifest;
  manifest.files = {write_shard(directory, 0, 0, 2, {record}),
                    write_shard(directory, 0, 1, 2, {record})};
  EXPECT_THAT(error_of([&] { writer.publish(manifest); }),
              IsError(Code::invalid_argument, HasSubstr("tensor 'w' is listed twice")));
  manifest.files.pop_back();
  manifest.files[0].bytes += 1;
  EXPECT_THAT(error_of([&] { writer.publish(manifest); }),
              IsError(Code::failed_precondition, HasSubstr("but should have")));
  manifest.files[0].name = "ckpt-0.shard-1-of-1.safetensors";
  EXPECT_THAT(error_of([&] { writer.publish(manifest); }),
              IsError(Code::failed_precondition, HasSubstr("No such file")));
  EXPECT_THAT(steps(), IsEmpty());
}

TEST_F(CheckpointWriting, ReplacesACheckpointOfTheSameStep) {
  CheckpointWriter writer(directory);
  save(writer, 5, 1);
  save(writer, 5, 2);
  save(writer, 5, 3);
  EXPECT_EQ(CheckpointDirectory(directory).open(5).read("w").at(0), 3);
  EXPECT_EQ(files().size(), 4u);  // the lock, the manifest, two shards
}

TEST_F(CheckpointWriting, KeepsTheNewestAndThoseAtMultiples) {
  CheckpointWriter writer(directory, {.keep_last = 2, .keep_every = 20});
  for (int step = 10; step <= 60; step += 10) save(writer, step);
  EXPECT_THAT(steps(), ElementsAre(20, 40, 50, 60));
  EXPECT_EQ(files().size(), 1u + 4 * 3);
}

TEST_F(CheckpointWriting, KeepsEverythingWhenToldTo) {
  EXPECT_THAT(expired({1, 2, 3, 4, 5, 6, 7}, {.keep_last = 0}), IsEmpty());
  EXPECT_THAT(expired({1, 2, 3}, {.keep_last = 1}), ElementsAre(1, 2));
  EXPECT_THAT(expired({}, {.keep_last = 1}), IsEmpty());
}

TEST_F(CheckpointWriting, KeepsTheFirstOfEveryFewHoursForGood) {
  std::vector<PublishedCheckpoint> all;
  for (const int minutes : {0, 50, 110, 125, 190, 360, 365})
    all.push_back(
        {minutes + 1, std::chrono::system_clock::time_point(std::chrono::minutes(minutes))});
  const Retention two_hours{.keep_last = 1, .keep_every_hours = 2};
  EXPECT_THAT(retired(all, two_hours), ElementsAre(51, 111, 191));
  // It does not matter that those have gone.
  std::erase_if(all, [](const auto& c) { return c.step == 51 || c.step == 111 || c.step == 191; });
  EXPECT_THAT(retired(all, two_hours), IsEmpty());
}

TEST_F(CheckpointWriting, ComputesWhatToKeepFromTheDirectory) {
  {
    CheckpointWriter writer(directory, {.keep_last = 3});
    for (const int step : {1, 2, 3}) save(writer, step);
  }
  CheckpointWriter writer(directory, {.keep_last = 3});  // a new process remembers nothing
  save(writer, 4);
  EXPECT_THAT(steps(), ElementsAre(2, 3, 4));
}

TEST_F(CheckpointWriting, NeverRemovesTheNewestThatCanBeOpened) {
  CheckpointWriter writer(directory, {.keep_last = 1});
  save(writer, 900);
  test::write_file(directory + "/ckpt-900.manifest", "damaged");
  save(writer, 5);  // an earlier step: 900 is still the last
  EXPECT_THAT(steps(), ElementsAre(5, 900));
  EXPECT_EQ(CheckpointDirectory(directory).open(5).step(), 5);
}

TEST_F(CheckpointWriting, IsForOneWriterAtATime) {
  const CheckpointWriter writer(directory);
  EXPECT_THAT(error_of([&] { CheckpointWriter another(directory); }),
              IsError(Code::failed_precondition,
                      HasSubstr("another writer is writing checkpoints to " + directory)));
}

TEST_F(CheckpointWriting, BeginsByRemovingWhatAKilledWriterLeft) {
  {
    CheckpointWriter writer(directory);
    save(writer, 5);
    write_shard(directory, 6, 0, 2, {});  // never published
    write_shard(directory, 5, 0, 2, {});  // a rewrite, never published
    test::write_file(directory + "/ckpt-6.shard-2-of-2.safetensors.tmp", "half");
    test::write_file(directory + "/notes.tmp", "not ours");
  }
  EXPECT_EQ(Checkpoint::open(directory).step(), 5);  // a reader does not mind them
  CheckpointWriter writer(directory);
  EXPECT_THAT(files(), testing::UnorderedElementsAre(
                           ".ckpt-writer", "ckpt-5.manifest", "ckpt-5.shard-1-of-2.safetensors",
                           "ckpt-5.shard-2-of-2.safetensors", "notes.tmp"));
  Checkpoint::open(directory).verify();
}

TEST_F(CheckpointWriting, KeepsTheWeightsOfADamagedManifest) {
  {
    CheckpointWriter writer(directory);
    save(writer, 5);
  }
  test::write_file(directory + "/ckpt-5.manifest", "damaged");
  CheckpointWriter writer(directory);
  EXPECT_THAT(files(), Contains("ckpt-5.shard-1-of-2.safetensors"));
}

TEST_F(CheckpointWriting, SaysWhyADirectoryCannotBeUsed) {
  test::write_file(temporary / "file", "");
  EXPECT_THAT(error_of([&] { CheckpointWriter writer(temporary / "file"); }),
              IsError(Code::unavailable, HasSubstr("cannot create " + temporary / "file")));
  EXPECT_THAT(error_of([&] { CheckpointWriter writer(directory, {.keep_last = -1}); }),
              IsError(Code::invalid_argument, HasSubstr("keep_last -1")));
}

/// Runs `work` in a child that is killed when it is about to make its n-th system
/// call. Whether it was: false when it ended before. Empty where a process may
/// not trace another.
template <class Work>
std::optional<bool> killed_at_system_call(int n, Work work) {
  const auto child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
    ::raise(SIGSTOP);
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) return std::nullopt;
  // The child stops before and after each call.
  for (int stops = 0; stops < 2 * n - 1; ++stops) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) || WIFSIGNALED(status)) return false;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return true;
}

TEST_F(CheckpointWriting, MayBeKilledAtAnySystemCall) {
  {
    CheckpointWriter writer(directory, {.keep_last = 2});
    for (const int step : {1, 2, 3}) save(writer, step);
  }
  // Goes on from the last step, and writes that one again first: the hardest moment
  // is the one in which a published checkpoint is replaced and an old one removed.
  const auto work = [&] {
    const auto last = *CheckpointDirectory(directory).latest();
    CheckpointWriter writer(directory, {.keep_last = 2});
    save(writer, last, -1);
    save(writer, last + 1);
  };
  int kills = 0;
  for (int n = 1;; ++n) {
    const auto killed = killed_at_system_call(n, work);
    if (!killed) GTEST_SKIP() << "a process may not trace another here";
    const auto checkpoint = Checkpoint::open(directory);
    checkpoint.verify();
    ASSERT_EQ(checkpoint.read("w").at(0), checkpoint.read("b").at(0)) << "call " << n;
    if (!*killed) break;
    ++kills;
  }
  EXPECT_GT(kills, 50);
  CheckpointWriter writer(directory, {.keep_last = 2});
  EXPECT_EQ(files().size(), 1u + 2 * 3);
}

}  // namespace
}  // namespace troupe
