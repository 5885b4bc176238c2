#include "troupe/actors/readers/input_producer.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "support/actor_test.h"
#include "support/temporary_directory.h"
#include "troupe/ops/error.h"
#include "troupe/queues/fifo_queue.h"

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
    return {epochs, shuffle, seed};
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

}  // namespace
}  // namespace troupe
