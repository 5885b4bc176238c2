#include "troupe/actors/readers/input_producer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "support/actor_test.h"
#include "support/temporary_directory.h"
#include "troupe/ops/error.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/random_shuffle_queue.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAreArray;

class InputProducer : public test::ActorTest {
 protected:
  // Whoever still waits is answered, so that every actor can end.
  void TearDown() override { caf::anon_send_exit(queue, caf::exit_reason::user_shutdown); }

  static QueueOptions options(std::int64_t capacity = 1000) {
    QueueOptions options;
    options.name = "names";
    options.capacity = capacity;
    return options;
  }
  static ProducerOptions epochs(std::int64_t epochs, bool shuffle = false, std::uint64_t seed = 0) {
    return {.epochs = epochs, .shuffle = shuffle, .seed = seed};
  }
  template <class Make, class What>
  auto start(Make make, What what, const ProducerOptions& options) {
    producer = spawn(make, queue, what, options);
    return ask<std::uint64_t>(producer, start_atom_v);
  }
  auto dequeue(std::int64_t count) {
    return ask<Batch>(queue, dequeue_atom_v, DequeueRequest{count, true});
  }
  template <class T>
  std::vector<T> all(std::int64_t most = 1000) {
    const auto batch = *dequeue(most)->value;
    const auto values = batch.components[0].read<T>();
    return {values.begin(), values.end()};
  }

  Queue queue = spawn(fifo_queue, options());
  Producer producer;
};

// ---- names of files --------------------------------------------------------------------------

class FileNames : public InputProducer {
 protected:
  FileNames() {
    for (const auto* name : {"b.txt", "a.txt", "c.idx"}) std::ofstream(directory / name) << "x";
  }
  test::TemporaryDirectory directory;
};

TEST_F(FileNames, ComeInTheOrderOfTheListAndOfThePatterns) {
  start(file_name_producer, std::vector{directory / "c.idx", directory / "*.txt"}, epochs(1));
  EXPECT_THAT(all<std::string>(),
              ElementsAre(directory / "c.idx", directory / "a.txt", directory / "b.txt"));
}

TEST_F(FileNames, CloseTheQueueWithTheReason) {
  start(file_name_producer, std::vector{directory / "*.txt"}, epochs(2));
  all<std::string>();
  const auto end = dequeue(1);
  EXPECT_EQ(code_of(end->fault), Code::out_of_range);
  EXPECT_THAT(end->words(), HasSubstr("end of data: 2 files (" + directory / "a.txt"));
}

TEST_F(FileNames, CloseTheQueueWithTheNameOfAFileThatIsNotThere) {
  const auto started = start(file_name_producer, std::vector{directory / "d.txt"}, epochs(1));
  EXPECT_EQ(code_of(started->fault), Code::not_found);
  const auto end = dequeue(1);
  EXPECT_EQ(code_of(end->fault), Code::not_found);
  EXPECT_THAT(end->words(), HasSubstr(directory / "d.txt"));
}

TEST_F(FileNames, AreNotFoundWhenAPatternMatchesNothing) {
  const auto started = start(file_name_producer, std::vector{directory / "*.csv"}, epochs(1));
  EXPECT_THAT(started->words(), StartsWith("not found: no file matches"));
}

TEST_F(FileNames, CannotComeFromAnEmptyList) {
  const auto started = start(file_name_producer, std::vector<std::string>{}, epochs(1));
  EXPECT_EQ(code_of(started->fault), Code::invalid_argument);
}

// ---- epochs ----------------------------------------------------------------------------------

TEST_F(InputProducer, GivesOutARangeInEveryEpoch) {
  const auto started = start(range_producer, std::int64_t{3}, epochs(2));
  EXPECT_EQ(*started->value, 6u);
  EXPECT_THAT(all<std::int64_t>(), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("end of data: 0 to 2, 2 times"));
}

TEST_F(InputProducer, ShufflesEachEpochInAnotherWay) {
  start(range_producer, std::int64_t{200}, epochs(2, true, 7));
  const auto first = all<std::int64_t>(200);
  const auto second = all<std::int64_t>(200);
  EXPECT_NE(first, second);
  auto sorted = first;
  std::ranges::sort(sorted);
  EXPECT_NE(first, sorted);
  EXPECT_THAT(second, UnorderedElementsAreArray(first)) << "whole epochs, one after the other";
}

TEST_F(InputProducer, GivesTheSameOrderForTheSameSeed) {
  const auto order = [this](std::uint64_t seed) {
    queue = spawn(fifo_queue, options());
    start(range_producer, std::int64_t{100}, epochs(1, true, seed));
    return all<std::int64_t>();
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST_F(InputProducer, GoesOnForEverAtThePaceOfTheQueue) {
  queue = spawn(fifo_queue, options(4));
  const auto started = start(range_producer, std::int64_t{3}, {});
  for (int i = 0; i < 50; ++i) EXPECT_THAT(all<std::int64_t>(3), ElementsAre(0, 1, 2));
  EXPECT_TRUE(started->pending());
  EXPECT_LE(ask<QueueStatus>(queue, status_atom_v)->value->size, 4);
}

TEST_F(InputProducer, RefusesLessThanOneEpoch) {
  const auto started = start(range_producer, std::int64_t{3}, epochs(0));
  EXPECT_THAT(started->words(), HasSubstr("epochs must be at least 1"));
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("epochs must be at least 1")) << "the queue knows why";
}

TEST_F(InputProducer, RefusesAnEmptyRange) {
  EXPECT_THAT(start(range_producer, std::int64_t{0}, epochs(1))->words(),
              HasSubstr("the limit of a range is at least 1, not 0"));
}

// ---- rows ------------------------------------------------------------------------------------

TEST_F(InputProducer, GivesOutRowsOfTensorsTogether) {
  const TensorList tensors{Tensor::of<float>({2, 2}, {1, 2, 3, 4}),
                           Tensor::of<std::string>({2}, {"a", "b"})};
  start(slice_producer, tensors, epochs(1));
  const auto batch = *dequeue(2)->value;
  EXPECT_EQ(batch.components[0], tensors[0]);
  EXPECT_EQ(batch.components[1], tensors[1]);
}

TEST_F(InputProducer, RefusesTensorsWhoseRowsDoNotMatch) {
  const auto refusal = [this](const TensorList& tensors) {
    queue = spawn(fifo_queue, options());
    return start(slice_producer, tensors, epochs(1))->words();
  };
  EXPECT_THAT(refusal({Tensor(DType::float32, {2}), Tensor(DType::float32, {3})}),
              HasSubstr("different numbers of rows: 2 and 3"));
  EXPECT_THAT(refusal({Tensor(DType::float32, {0, 2})}), HasSubstr("have no rows"));
  EXPECT_THAT(refusal({Tensor(DType::float32, {})}), HasSubstr("a scalar has no rows"));
  EXPECT_THAT(refusal({}), HasSubstr("no tensors"));
}

// ---- ending ----------------------------------------------------------------------------------

TEST_F(InputProducer, StopsWhenItIsToldTo) {
  queue = spawn(fifo_queue, options(4));
  const auto started = start(range_producer, std::int64_t{3}, {});
  ask<caf::ok_atom>(producer, stop_atom_v);
  EXPECT_EQ(code_of(started->fault), Code::cancelled);
  EXPECT_TRUE(ask<QueueStatus>(queue, status_atom_v)->value->closed);
}

TEST_F(InputProducer, EndsWhenItsQueueIsClosed) {
  queue = spawn(fifo_queue, options(4));
  const auto started = start(range_producer, std::int64_t{3}, {});
  ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{true, {Code::out_of_range, "enough"}});
  EXPECT_EQ(code_of(started->fault), Code::cancelled);
  EXPECT_THAT(started->words(), HasSubstr("is closed: enough"));
}

TEST_F(InputProducer, CountsWhatTheQueueHasTaken) {
  start(range_producer, std::int64_t{70}, epochs(1));
  EXPECT_EQ(ask<StageStatus>(producer, status_atom_v)->value->records, 70u);
}

TEST_F(InputProducer, IsStartedOnce) {
  queue = spawn(fifo_queue, options(4));
  start(range_producer, std::int64_t{3}, {});
  EXPECT_EQ(code_of(ask<std::uint64_t>(producer, start_atom_v)->fault), Code::failed_precondition);
}

TEST_F(InputProducer, TellsAQueueThatExpectsItWhenItIsStoppedBeforeItWasStarted) {
  producer = spawn(range_producer, queue, std::int64_t{3}, epochs(1));
  caf::anon_send(queue, expect_atom_v, "numbers", caf::actor_cast<caf::actor>(producer));
  const auto batch = dequeue(1);
  ask<caf::ok_atom>(producer, stop_atom_v);
  EXPECT_THAT(batch->words(), StartsWith("cancelled: the producer has been stopped"));
}

// ---- going on --------------------------------------------------------------------------------

enum class Kind { names, numbers, rows };

/// Producers of five elements, which are read as text.
class ProducerPositions : public InputProducer, public ::testing::WithParamInterface<Kind> {
 protected:
  ProducerPositions() {
    for (const auto* name : {"a", "b", "c", "d", "e"}) std::ofstream(directory / name) << "x";
  }
  /// One with a queue of its own, which is not started.
  void make(const ProducerOptions& options, std::int64_t capacity = 3, std::int64_t count = 5) {
    caf::anon_send_exit(queue, caf::exit_reason::user_shutdown);
    queue = spawn(fifo_queue, InputProducer::options(capacity));
    switch (GetParam()) {
      case Kind::names: {
        std::vector<std::string> files{directory / "a", directory / "b", directory / "c",
                                       directory / "d", directory / "e"};
        files.resize(static_cast<std::size_t>(count));
        producer = spawn(file_name_producer, queue, files, options);
        break;
      }
      case Kind::numbers:
        producer = spawn(range_producer, queue, count, options);
        break;
      case Kind::rows:
        producer = spawn(slice_producer, queue,
                         TensorList{Tensor::of<std::int64_t>({5}, {0, 1, 2, 3, 4}).slice(0, count)},
                         options);
        break;
    }
  }
  void run() { ask<std::uint64_t>(producer, start_atom_v); }
  std::vector<std::string> take(std::int64_t count) {
    const auto batch = dequeue(count);
    std::vector<std::string> all;
    if (!batch->value) return all;
    const auto& values = batch->value->components[0];
    for (std::int64_t i = 0; i < values.size(); ++i)
      all.push_back(values.dtype() == DType::string
                        ? values.read<std::string>()[static_cast<std::size_t>(i)]
                        : text(values.at(i)));
    return all;
  }
  auto snapshot() { return ask<ReaderSnapshot>(producer, snapshot_atom_v); }
  auto restore(const std::string& position) {
    return ask<caf::ok_atom>(producer, restore_atom_v, ReaderSnapshot{position, 0});
  }
  test::TemporaryDirectory directory;
};

std::string name_of(Kind kind) {
  constexpr std::array kNames{"Names", "Numbers", "Rows"};
  return kNames.at(static_cast<std::size_t>(kind));
}

INSTANTIATE_TEST_SUITE_P(Producers, ProducerPositions,
                         ::testing::Values(Kind::names, Kind::numbers, Kind::rows),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(ProducerPositions, LetAnotherOneGoOnWithWhatNobodyHasTaken) {
  for (const bool shuffle : {false, true}) {
    const auto options = epochs(3, shuffle, 7);
    make(options, 100);
    run();
    const auto all = take(15);
    ASSERT_EQ(all.size(), 15u);
    for (std::size_t taken = 0; taken <= all.size(); ++taken) {
      make(options);
      run();
      EXPECT_EQ(take(static_cast<std::int64_t>(taken)).size(), taken);
      const auto at = *snapshot()->value;
      EXPECT_EQ(at.sequence, taken);
      make(options, 100);
      EXPECT_TRUE(restore(at.position)->value) << at.position;
      EXPECT_EQ(snapshot()->value->position, at.position) << "before it is started";
      run();
      EXPECT_EQ(take(100), (std::vector<std::string>(all.begin() + taken, all.end())));
      EXPECT_EQ(code_of(dequeue(1)->fault), Code::out_of_range);
      EXPECT_EQ(snapshot()->value->sequence, all.size()) << "behind the end";
    }
  }
}

TEST_P(ProducerPositions, MayBeGivenAsAnOption) {
  auto options = epochs(1);
  make(options, 100);
  run();
  const auto all = take(2);
  options.position = snapshot()->value->position;
  make(options, 100);
  run();
  EXPECT_EQ(take(100).size(), 3u);
  options.position = "epoch 9";
  make(options, 100);
  EXPECT_EQ(code_of(ask<std::uint64_t>(producer, start_atom_v)->fault), Code::invalid_argument);
  EXPECT_EQ(code_of(dequeue(1)->fault), Code::invalid_argument) << "the queue knows why";
}

TEST_P(ProducerPositions, AreRefusedWhereThereAreNone) {
  make(epochs(2));
  const auto good = snapshot()->value->position;
  EXPECT_EQ(good, "epoch 0; file 0 offset 5 record 1 skip 0");
  for (const auto* bad :
       {"epoch 0; file 0 offset 5 record 0 skip 0", "epoch 0; file 0 offset 5 record 6 skip 0",
        "epoch 0; file 0 offset 5 record -3 skip 0", "epoch 0; file 1 offset 5 record 1 skip 0",
        "epoch 0; file 0 offset 5 record 1 skip 1", "epoch 2; file 0 offset 5 record 2 skip 0",
        "epoch 3; file 0 offset 5 record 1 skip 0",
        "epoch 0; file 0 offset 5 record 1 skip 0; file 0 offset 5 record 1 skip 0", "epoch 0"})
    EXPECT_THAT(restore(bad)->words(), StartsWith("invalid argument: there is no position")) << bad;
  for (const auto* bad : {"", "rubbish", "epoch x; file 0 offset 5 record 1 skip 0"})
    EXPECT_EQ(code_of(restore(bad)->fault), Code::data_loss) << bad;
  EXPECT_EQ(snapshot()->value->position, good) << "a refusal changes nothing";
  EXPECT_TRUE(restore("epoch 2; file 0 offset 5 record 1 skip 0")->value) << "the end";
}

TEST_P(ProducerPositions, AreThoseOfAsManyElements) {
  make(epochs(2), 3, 4);
  EXPECT_THAT(restore("epoch 0; file 0 offset 5 record 1 skip 0")->words(),
              HasSubstr("is one among 5 elements, but there are 4"));
}

TEST_P(ProducerPositions, AreSetBeforeTheStart) {
  make(epochs(2));
  run();
  EXPECT_THAT(restore("epoch 0; file 0 offset 5 record 1 skip 0")->words(),
              StartsWith("failed precondition: a producer is restored before it is started"));
}

TEST_P(ProducerPositions, NeedAQueueThatKeepsTheOrderAndHasNothingElse) {
  make(epochs(2));
  run();
  ask<caf::ok_atom>(queue, enqueue_atom_v, ElementBlock{0, {}}, EnqueueOptions{});
  EXPECT_TRUE(snapshot()->value) << "an empty block is nothing";
  take(2);
  const Element other{GetParam() == Kind::names ? Tensor::scalar<std::string>("other")
                                                : Tensor::scalar<std::int64_t>(9)};
  ask<caf::ok_atom>(queue, enqueue_atom_v, ElementBlock{0, {other}}, EnqueueOptions{});
  take(8);
  EXPECT_THAT(snapshot()->words(), HasSubstr("has elements of others, too"));

  make(epochs(2));
  RandomShuffleQueueOptions shuffled{InputProducer::options(), 0, 1};
  const auto random = spawn(random_shuffle_queue, shuffled);
  producer = spawn(range_producer, random, std::int64_t{5}, epochs(1));
  run();
  EXPECT_THAT(snapshot()->words(), HasSubstr("RandomShuffleQueue 'names' gives out elements in "
                                             "another order"));
}

}  // namespace
}  // namespace troupe
