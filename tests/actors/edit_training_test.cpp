// Readers and decoders of a training run come and go, and an update has each record once an epoch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "actors/counted_records.h"
#include "actors/training_run.h"
#include "support/error_matcher.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"

namespace troupe {
namespace {

using test::counting_model;
using test::error_of;
using test::IsError;
using test::kRecords;
using test::kRows;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kFiles = 8;

class EditTraining : public test::ATrainingRun {
 protected:
  EditTraining() {
    for (int file = 0; file < kFiles; ++file)
      test::write_records(path("ids-" + std::to_string(file)), file, kFiles);
  }
  Batches records(std::int64_t epochs) const {
    return read_text({path("ids-*")})
        .repeat(epochs, 3)
        .decode({numbers({kRecords})}, {.decoders = 2, .block_records = 5})
        .shuffle({.capacity = 40, .min_after_dequeue = 20})
        .batch(kRows, Remainder::keep);
  }
  static TrainingOptions counting(const std::string& directory) {
    TrainingOptions o;
    o.optimizer = optim::sgd();
    o.learning_rate = static_cast<double>(kRows);
    o.threads = {2, 1};
    o.replicas = 2;
    o.checkpoints.keep = 0;
    o.checkpoints.directory = directory;
    return o;
  }
  static void expect_each_record(const std::string& directory, double times) {
    for (auto& record : Checkpoint::open(directory).read_all())
      for (std::int64_t i = 0; i < kRecords; ++i)
        EXPECT_NEAR(-record.value.at(i), times, 1e-3) << "record " << i << " of " << directory;
  }
  /// Changes readers, decoders and, where each batch goes to one of them, replicas at random until
  /// the run is over.
  static int change(Training& training, bool replicas, const std::atomic<bool>& over) {
    std::mt19937 random(3);
    int made = 0;
    while (!over) try {
        const auto count = static_cast<int>(1 + random() % 4);
        switch (random() % 4) {
          case 0:
            training.set_readers(count);
            break;
          case 1:
            training.set_decoders(count);
            break;
          case 2:
            training.remove_reader();
            break;
          default:
            // Of a batch that was cut for another number of replicas, shares come into different
            // updates, whose means then have other weights.
            if (replicas) training.set_replicas(count);
        }
        ++made;
      } catch (const Error&) {
        std::this_thread::yield();  // the run has not begun, or is over, or it was the last one
      }
    return made;
  }
};

TEST_F(EditTraining, HasEachRecordOnceAndSoHasWhoGoesOnFromACheckpoint) {
  constexpr int kEpochs = 40;
  for (const std::string policy : {"sync", "async"}) {
    auto o = counting(path(policy));
    o.aggregation.policy = policy;
    o.checkpoints.every = 25;
    std::atomic<bool> over{false};
    int made = 0;
    {
      Training training(counting_model, records(kEpochs), o);
      std::thread changes([&] { made = change(training, policy == "async", over); });
      outcome = training.run();
      over = true;
      changes.join();
      EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
    }
    ASSERT_EQ(outcome.ending, Ending::end_of_data) << outcome.message;
    EXPECT_EQ(outcome.examples, kEpochs * kRecords);
    EXPECT_GT(made, 10);
    expect_each_record(o.checkpoints.directory, kEpochs);
    const auto steps = CheckpointDirectory(o.checkpoints.directory).list();
    ASSERT_GT(steps.size(), 5u);
    for (std::size_t i = 0; i + 1 < steps.size(); i += 3) {
      auto again = o;
      again.checkpoints.directory = path(policy + std::to_string(steps[i]));
      again.checkpoints.resume_from = o.checkpoints.directory + "/ckpt-" + std::to_string(steps[i]);
      const auto end = Training(counting_model, records(kEpochs), again).run();
      ASSERT_EQ(end.ending, Ending::end_of_data) << end.message;
      expect_each_record(again.checkpoints.directory, kEpochs);
    }
  }
}

TEST_F(EditTraining, SaysThatARunDoesNotAnswer) {
  auto o = counting("");
  std::promise<void> busy, go_on;
  o.progress_interval = std::chrono::milliseconds(1);
  o.progress = [&, first = true](const Progress&) mutable {
    if (!std::exchange(first, false)) return;
    busy.set_value();
    go_on.get_future().wait();
  };
  o.patience = std::chrono::milliseconds(20);
  Training training(counting_model, records(0), o);
  // Its end is under the same patience, and does not matter.
  const auto run = std::async(std::launch::async, [&] { return training.run(); });
  busy.get_future().wait();
  EXPECT_THAT(error_of([&] { training.add_replica(); }),
              IsError(Code::deadline_exceeded, HasSubstr("conductor")));
  go_on.set_value();
  training.request_stop();
  run.wait();
  EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
}

TEST_F(EditTraining, ExplainsThoseWhoCameLater) {
  std::promise<void> begun;
  auto o = counting("");
  o.progress_interval = std::chrono::milliseconds(1);
  o.progress = [&, first = true](const Progress&) mutable {
    if (std::exchange(first, false)) begun.set_value();
  };
  Training training(counting_model, records(0), o);
  const auto run = std::async(std::launch::async, [&] { return training.run(); });
  begun.get_future().wait();
  const auto names = [&](Role role) {
    std::vector<std::string> all;
    for (const auto& node : training.explain().topology.nodes)
      if (node.role == role) all.push_back(node.name);
    return all;
  };
  EXPECT_THAT(names(Role::reader), ElementsAre("reader"));
  training.add_decoder();
  EXPECT_THAT(names(Role::decoder), ElementsAre("decoder 0", "decoder 1", "decoder 2"));
  training.set_readers(3);
  EXPECT_THAT(names(Role::reader), ElementsAre("reader", "reader 1", "reader 2"));
  training.request_stop();
  run.wait();
  EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
}

TEST_F(EditTraining, StopsWhileReadersComeAndGoAndGoesOn) {
  constexpr int kEpochs = 60;
  auto o = counting(path("stopped"));
  // A replica may stop before the step that another one is in: then the share of the other is a
  // mean of its own, and counts more. Here every batch is one of its own.
  o.aggregation.policy = "async";
  for (bool first = true;; first = false) {
    o.checkpoints.resume = !first;
    Training training(counting_model, records(kEpochs), o);
    std::atomic<bool> over{false};
    std::thread changes([&] {
      std::mt19937 random(first ? 1 : 2);
      int left = 12;
      while (!over) try {
          training.set_readers(static_cast<int>(1 + random() % 4));
          if (first && --left == 0) training.request_stop();
        } catch (const Error&) {
          std::this_thread::yield();
        }
    });
    outcome = training.run();
    over = true;
    changes.join();
    ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
    EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
    if (outcome.ending == Ending::end_of_data) break;
    ASSERT_TRUE(first);
  }
  expect_each_record(o.checkpoints.directory, kEpochs);
}

TEST_F(EditTraining, HasTheSameBitsWithOtherDecodersAndRefusesReadersWhenDeterministic) {
  auto o = options();
  o.replicas = 2;
  const auto expected = train(o, 10);
  o.checkpoints.directory = path("edited");
  Training training(test::small_model, batches(10), o);
  std::atomic<bool> over{false};
  std::thread changes([&] {
    std::mt19937 random(4);
    while (!over) try {
        training.set_decoders(static_cast<int>(1 + random() % 5));
        training.add_reader();
        ADD_FAILURE() << "a second reader was let in";
      } catch (const Error&) {
        std::this_thread::yield();
      }
  });
  outcome = training.run();
  over = true;
  changes.join();
  ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
  EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
  for (auto& record : Checkpoint::open(o.checkpoints.directory).read_all())
    if (record.kind == TensorKind::variable) {
      EXPECT_TRUE(same_bits(record.value, expected.at(record.name))) << record.name;
    }
}

TEST_F(EditTraining, TellsListenersAndRefusesWhatComesTooEarlyOrTooLate) {
  auto o = counting(path("told"));
  std::mutex mutex;
  std::vector<std::string> heard;
  o.events = [&](const std::string& words) {
    const std::lock_guard guard(mutex);
    heard.push_back(words);
  };
  Training training(counting_model, records(0), o);
  EXPECT_THAT(error_of([&] { training.add_reader(); }),
              IsError(Code::failed_precondition, HasSubstr("only while a run goes on")));
  std::thread changes([&] {
    while (true) try {
        EXPECT_EQ(training.add_reader(), "reader 1");
        break;
      } catch (const Error&) {
        std::this_thread::yield();
      }
    EXPECT_EQ(training.add_decoder(), "decoder 3");
    EXPECT_EQ(training.remove_reader("reader"), "reader");
    training.request_stop();
  });
  outcome = training.run();
  changes.join();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
  EXPECT_THAT(error_of([&] { training.add_reader(); }),
              IsError(Code::failed_precondition, HasSubstr("the pipeline is stopping")));
  EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
  const std::lock_guard guard(mutex);
  EXPECT_THAT(heard, Contains(HasSubstr("reader 1 joins")));
  EXPECT_THAT(heard, Contains(HasSubstr("reader leaves")));
}

}  // namespace
}  // namespace troupe
