#include "troupe/actors/pipeline/input_producers.h"

#include <gmock/gmock.h>

#include "support/temporary_directory.h"
#include "troupe/actors/topology/troupe.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;

class InputProducers : public ::testing::Test {
 protected:
  Batch dequeue(const Queue& queue, std::int64_t count) {
    return troupe.ask<Batch>(queue, std::chrono::minutes(1), dequeue_atom_v, DequeueRequest{count});
  }
  Troupe troupe{ThreadBudget{2, 1}};
};

TEST_F(InputProducers, FillTheirQueuesWithoutBeingStarted) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "a.txt") << "x";
  std::ofstream(directory / "b.txt") << "x";
  const auto names = string_input_producer(troupe, "names", {directory / "*.txt"});
  const auto batch = dequeue(names.queue, 3);
  EXPECT_THAT(batch.components[0].read<std::string>(),
              ElementsAre(directory / "a.txt", directory / "b.txt", directory / "a.txt"));

  const auto numbers = range_input_producer(troupe, "numbers", 3);
  EXPECT_THAT(dequeue(numbers.queue, 4).components[0].read<std::int64_t>(),
              ElementsAre(0, 1, 2, 0));

  const auto rows =
      slice_input_producer(troupe, "rows", {Tensor::of<float>({2, 1}, {5, 6})}, {.epochs = 1});
  EXPECT_EQ(dequeue(rows.queue, 2).components[0], Tensor::of<float>({2, 1}, {5, 6}));
  EXPECT_THROW(dequeue(rows.queue, 1), Error) << "the end of the data";
}

TEST_F(InputProducers, ComplainAtOnceAboutFilesThatAreNotThere) {
  EXPECT_THROW(string_input_producer(troupe, "names", {"no/such/file.txt"}), Error);
  EXPECT_TRUE(troupe.members().empty());
}

}  // namespace
}  // namespace troupe
