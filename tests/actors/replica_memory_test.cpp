#include "troupe/messages/replica_memory.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "actors/training_run.h"
#include "support/error_matcher.h"
#include "troupe/actors/aggregation/replica_memories.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/checkpoint/checkpoint_writer.h"
#include "troupe/actors/checkpoint/memory_file.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, values);
}
std::vector<float> values_of(const Tensor& tensor) {
  const auto values = tensor.read<float>();
  return {values.begin(), values.end()};
}

// ---- what becomes of a set -------------------------------------------------------------------

ReplicaMemory scale_of(std::uint32_t replica, double scale) { return {replica, scale, 0, {}}; }

class Memories : public ::testing::Test {
 protected:
  Memories() { memories.expect(1, {7, scale_of(1, 8), scale_of(1, 2)}); }
  void settle(std::uint64_t first, SetFate fate) { memories.settle({1, first, 1, fate}); }
  double scale() const { return memories.of(1).loss_scale; }
  ReplicaMemories memories;
};

TEST_F(Memories, AreThoseOfTheSetsOnWhichIsDecided) {
  EXPECT_EQ(scale(), 0);
  EXPECT_THAT(memories.all(), IsEmpty());
  settle(7, SetFate::applied);
  EXPECT_EQ(scale(), 8);
  memories.expect(1, {9, scale_of(1, 16), scale_of(1, 4)});
  EXPECT_EQ(scale(), 8);
  settle(9, SetFate::skipped);
  EXPECT_EQ(scale(), 4);
}

TEST_F(Memories, StayWhereASetIsComputedAgain) {
  settle(7, SetFate::applied);
  for (const auto fate : {SetFate::stale, SetFate::given_up}) {
    memories.expect(1, {9, scale_of(1, 16), scale_of(1, 4)});
    settle(9, fate);
    EXPECT_EQ(scale(), 8);
  }
}

TEST_F(Memories, StayWhenAnotherSetIsSettled) {
  settle(6, SetFate::applied);
  EXPECT_EQ(scale(), 0);
  memories.settle({0, 7, 1, SetFate::applied});
  EXPECT_EQ(scale(), 0);
}

// ---- other replicas --------------------------------------------------------------------------

TEST(OwedGradients, ArePutTogetherFromTheRowsOfShards) {
  const auto whole = in_one_piece({{"w", 2, floats({1, 2}, {5, 6})},
                                   {"b", 0, floats({1}, {9})},
                                   {"w", 0, floats({2, 2}, {1, 2, 3, 4})}});
  ASSERT_THAT(whole, SizeIs(2));
  EXPECT_EQ(whole[0].variable, "b");
  EXPECT_EQ(whole[1].values.shape(), (Shape{3, 2}));
  EXPECT_THAT(values_of(whole[1].values), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(OwedGradients, AreRefusedWhenRowsAreMissingOrDoNotFit) {
  EXPECT_THAT(error_of([] {
                in_one_piece({{"w", 0, floats({1, 2}, {1, 2})}, {"w", 2, floats({1, 2}, {3, 4})}});
              }),
              IsError(Code::data_loss, HasSubstr("'w' has rows from 2 on")));
  EXPECT_THAT(
      error_of([] {
        in_one_piece({{"w", 0, floats({1, 2}, {1, 2})}, {"w", 1, floats({1, 3}, {3, 4, 5})}});
      }),
      IsError(Code::data_loss, HasSubstr("[1, 3]")));
  EXPECT_THAT(error_of([] {
                dealt_out({{0, 0, 0, {{"w", 0, floats({2}, {1, 2})}}},
                           {1, 0, 0, {{"w", 0, floats({3}, {1, 2, 3})}}}},
                          1, 1);
              }),
              IsError(Code::data_loss, HasSubstr("'w' has shape [2] and [3]")));
}

TEST(OwedGradients, OfReplicasThatAreNoMoreGoToTheOthers) {
  const auto owes = [](std::uint32_t replica, float what) {
    return ReplicaMemory{replica, 2.0 * (replica + 1), 3, {{"w", 0, floats({1}, {what})}}};
  };
  const auto dealt = dealt_out({owes(0, 1), owes(1, 10), owes(2, 100)}, 2, 0.5);
  ASSERT_THAT(dealt, SizeIs(2));
  EXPECT_THAT(values_of(dealt[0].owed.at(0).values), ElementsAre(50.5));
  EXPECT_THAT(values_of(dealt[1].owed.at(0).values), ElementsAre(5));
  EXPECT_EQ(dealt[0].loss_scale, 2);
  EXPECT_EQ(dealt[1].loss_scale, 4);
}

// ---- on disk ---------------------------------------------------------------------------------

/// Writes a checkpoint with nothing but them.
void write(const std::string& directory, std::int64_t step,
           const std::vector<ReplicaMemory>& memories) {
  CheckpointWriter writer(directory, {.keep_last = 1});
  Manifest manifest;
  manifest.step = step;
  manifest.files = {write_shard(directory, step, 0, 1,
                                {{"w", TensorKind::variable, "", "", Tensor::scalar(1.0F)}})};
  write_memories(directory, memories, manifest);
  writer.publish(manifest);
}

TEST(Memory, GoesToDiskBitByBit) {
  const test::TemporaryDirectory directory;
  const std::vector<ReplicaMemory> memories{
      {0, 1024, 17, {{"a/w", 0, floats({3}, {-0.0F, 1e-40F, std::nextafter(1.0F, 2.0F)})}}},
      {3, 0, 0, {{"a/w", 4, floats({1, 2}, {1, 2})}, {"a/w", 5, floats({1, 2}, {3, 4})}}}};
  write(directory.path(), 1, memories);
  const auto back = read_memories(Checkpoint::open(directory.path()));
  ASSERT_THAT(back, SizeIs(2));
  EXPECT_EQ(back[0].loss_scale, 1024);
  EXPECT_EQ(back[0].good_steps, 17u);
  EXPECT_EQ(back[1].replica, 3u);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(back[i].owed.size(), memories[i].owed.size());
    for (std::size_t k = 0; k < back[i].owed.size(); ++k) {
      const auto& a = back[i].owed[k];
      const auto& b = memories[i].owed[k];
      EXPECT_EQ(a.variable, b.variable);
      EXPECT_EQ(a.first_row, b.first_row);
      EXPECT_TRUE(same_bits(a.values, b.values));
    }
  }
}

TEST(Memory, GoesWithItsCheckpoint) {
  const test::TemporaryDirectory directory;
  const std::vector<ReplicaMemory> memories{{0, 0, 0, {{"w", 0, floats({1}, {1})}}}};
  for (const int step : {1, 1, 2}) write(directory.path(), step, memories);
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(directory.path()))
    if (const auto name = file.path().filename().string(); name.find("memories") != name.npos)
      files.push_back(name);
  EXPECT_THAT(files, ElementsAre("ckpt-2.memories.safetensors"));
}

TEST(Memory, ThatIsDamagedIsRefused) {
  const test::TemporaryDirectory directory;
  write(directory.path(), 1, {{0, 0, 0, {{"w", 0, floats({2}, {1, 2})}}}});
  const auto file = directory / "ckpt-1.memories.safetensors";
  const auto bytes = std::filesystem::file_size(file);
  const auto refusal = [&] {
    return error_of([&] { read_memories(Checkpoint::open(directory.path())); });
  };
  {
    std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
    damage.seekp(static_cast<std::streamoff>(bytes) - 4);
    damage << "bits";
  }
  EXPECT_THAT(refusal(), IsError(Code::data_loss, HasSubstr("is damaged")));
  std::filesystem::resize_file(file, bytes - 1);
  EXPECT_THAT(refusal(), IsError(Code::data_loss, HasSubstr("ckpt-1.memories.safetensors")));
  std::filesystem::remove(file);
  EXPECT_THAT(
      refusal(),
      IsError(Code::data_loss, HasSubstr("which has the memories of the checkpoint, is missing")));
}

TEST(Memory, OfACheckpointWithoutAnyIsNone) {
  const test::TemporaryDirectory directory;
  write(directory.path(), 1, {});
  EXPECT_THAT(read_memories(Checkpoint::open(directory.path())), IsEmpty());
}

// ---- runs ------------------------------------------------------------------------------------

using Weights = std::map<std::string, Tensor>;

class AMemory : public test::ATrainingRun {
 protected:
  static TrainingOptions two_replicas(const std::string& compression, DType precision) {
    auto o = options();
    o.replicas = 2;
    o.shards = 2;
    o.max_shard_bytes = 64;
    o.aggregation.compression = compression;
    o.precision = precision;
    // It is halved at first, and doubled again and again.
    if (precision == DType::float16) o.loss_scale = {.initial = 0x1p24, .growth_interval = 4};
    o.checkpoints.every = 3;
    o.checkpoints.keep = 0;
    return o;
  }
  TrainingOutcome run(TrainingOptions o, std::int64_t epochs = 4) {
    events.clear();
    o.events = [this](const std::string& words) {
      const std::lock_guard guard(mutex);
      events.push_back(words);
    };
    const auto outcome = Training(test::small_model, batches(epochs), o).run();
    EXPECT_NE(outcome.ending, Ending::failed) << outcome.message;
    return outcome;
  }
  static Weights weights_in(const std::string& directory) {
    Weights weights;
    for (auto& record : Checkpoint::open(directory).read_all())
      weights.emplace(record.name, record.value);
    return weights;
  }
  std::vector<ReplicaMemory> memories_in(const std::string& checkpoint) const {
    return read_memories(Checkpoint::open(path(checkpoint)));
  }
  void expect_the_same_from_every_checkpoint(TrainingOptions o) {
    o.checkpoints.directory = path("whole");
    run(o);
    const auto wanted = weights_in(path("whole"));
    const auto steps = CheckpointDirectory(path("whole")).list();
    ASSERT_GT(steps.size(), 5u);
    for (const auto step : steps) {
      if (step == steps.back()) continue;
      auto again = o;
      again.checkpoints.directory = path("from-" + std::to_string(step));
      again.checkpoints.resume_from = path("whole/ckpt-" + std::to_string(step));
      run(again);
      const auto weights = weights_in(again.checkpoints.directory);
      ASSERT_EQ(weights.size(), wanted.size());
      for (const auto& [name, value] : wanted)
        EXPECT_TRUE(same_bits(value, weights.at(name))) << name << ", from step " << step;
      EXPECT_THAT(events, Not(Contains(HasSubstr("kept for themselves"))));
    }
  }

  std::mutex mutex;
  std::vector<std::string> events;
};

TEST_F(AMemory, OfWhatCompressionLeftGivesAResumedRunTheSameBits) {
  expect_the_same_from_every_checkpoint(two_replicas("topk:0.1", DType::float32));
  const auto memories = memories_in("whole/ckpt-6");
  ASSERT_THAT(memories, SizeIs(2));
  EXPECT_THAT(memories[0].owed, Not(IsEmpty()));
}

TEST_F(AMemory, OfLossScalesGivesAResumedRunTheSameBits) {
  expect_the_same_from_every_checkpoint(two_replicas("none", DType::float16));
  // It has changed meanwhile, more than once.
  EXPECT_NE(memories_in("whole/ckpt-3")[0].loss_scale, 0x1p24);
  EXPECT_NE(memories_in("whole/ckpt-3")[0].loss_scale, memories_in("whole/ckpt-15")[0].loss_scale);
}

TEST_F(AMemory, OfBothGivesTheSameBitsWithAccumulatedBatches) {
  auto o = two_replicas("topk:0.1", DType::float16);
  o.aggregation.accumulate = 2;
  o.aggregation.clip_norm = 0.5;
  o.checkpoints.every = 2;
  expect_the_same_from_every_checkpoint(o);
}

TEST_F(AMemory, GivesTheSameBitsAfterAStopWhenReplicasHaveLeftOutOtherSets) {
  auto o = two_replicas("none", DType::float16);
  o.replicas = 4;
  o.checkpoints.every = 0;
  o.checkpoints.directory = path("whole");
  const auto steps = run(o, 40).steps;
  std::map<std::string, int> left_out;
  for (const auto& event : events)
    if (event.find("is left out") != std::string::npos)
      ++left_out[event.substr(event.find("replica"), 9)];
  ASSERT_FALSE(left_out.empty());
  const auto& [first, times] = *left_out.begin();
  EXPECT_FALSE(left_out.size() == 4 && std::all_of(left_out.begin(), left_out.end(),
                                                   [&](auto& r) { return r.second == times; }))
      << "all are at the same batch";
  for (const std::uint64_t at : {steps / 9, steps / 4, steps / 3}) {
    o.checkpoints.directory = path(text("stopped-", at));
    o.checkpoints.resume = false;
    o.progress_interval = std::chrono::milliseconds(1);
    for (int part = 0; part < 3; ++part) {
      Training* going = nullptr;
      o.progress = [&](const Progress& p) {
        if (part < 2 && p.step >= at * (1 + part)) going->request_stop();
      };
      Training training(test::small_model, batches(40), o);
      going = &training;
      ASSERT_NE(training.run().ending, Ending::failed);
      o.checkpoints.resume = true;
    }
    EXPECT_EQ(Checkpoint::open(o.checkpoints.directory).step(), static_cast<std::int64_t>(steps));
    const auto weights = weights_in(o.checkpoints.directory);
    for (const auto& [name, value] : weights_in(path("whole")))
      EXPECT_TRUE(same_bits(value, weights.at(name))) << name << ", stopped at " << at;
  }
}

TEST_F(AMemory, GivesTheSameBitsWithAnAllReduce) {
  auto o = two_replicas("topk:0.1", DType::float16);
  o.shards = 1;
  o.max_shard_bytes = 0;
  o.aggregation.all_reduce = "ring";
  expect_the_same_from_every_checkpoint(o);
}

TEST_F(AMemory, IsDealtOutToOtherNumbersOfReplicas) {
  auto o = two_replicas("topk:0.1", DType::float16);
  o.replicas = 3;
  o.checkpoints.directory = path("three");
  run(o);
  o.checkpoints.resume_from = path("three/ckpt-6");
  for (const int replicas : {1, 2, 5}) {
    o.replicas = replicas;
    o.shards = replicas;  // rows are in other shards, too
    o.checkpoints.directory = path("other-" + std::to_string(replicas));
    run(o);
    EXPECT_THAT(events, Contains(HasSubstr("what compression had left of the gradients of 3 "
                                           "replicas is dealt out to " +
                                           std::to_string(replicas))));
  }
}

TEST_F(AMemory, IsThereWithoutTheDataToo) {
  auto o = two_replicas("topk:0.1", DType::float32);
  o.checkpoints.directory = path("run");
  o.checkpoints.data = false;
  o.max_steps = 4;
  run(o);
  EXPECT_THAT(memories_in("run/ckpt-3"), SizeIs(2));
  EXPECT_THAT(memories_in("run/ckpt-4"), SizeIs(2));
  o.checkpoints.resume = true;
  o.max_steps = 6;
  run(o);
  EXPECT_THAT(events, Not(Contains(HasSubstr("kept for themselves"))));
}

TEST_F(AMemory, ThatACheckpointDoesNotHaveIsToldOf) {
  auto o = two_replicas("none", DType::float32);
  o.checkpoints.directory = path("run");
  o.max_steps = 3;
  run(o);
  EXPECT_THAT(memories_in("run"), IsEmpty());
  o.checkpoints.resume = true;
  o.aggregation.compression = "topk:0.1";
  o.max_steps = 6;
  run(o);
  EXPECT_THAT(events, Contains(HasSubstr("does not say what its replicas kept for themselves")));
}

}  // namespace
}  // namespace troupe
