#include "troupe/queues/staging_area.h"

#include <gmock/gmock.h>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Element batch_of(std::int64_t rows, double value) {
  return {Tensor::filled(DType::float32, {rows, 2}, value)};
}

class StagingAreaActor : public test::ActorTest {
 protected:
  static QueueOptions options() {
    QueueOptions options;
    options.name = "s";
    options.capacity = 2;
    return options;
  }
  auto put(Element element) {
    return ask<caf::ok_atom>(area, enqueue_atom_v, ElementBlock{0, {std::move(element)}},
                             EnqueueOptions{});
  }
  auto get() { return ask<Batch>(area, dequeue_atom_v, DequeueRequest{}); }
  auto peek(std::int64_t index, Timeout timeout = kForever) {
    return ask<Batch>(area, peek_atom_v, PeekRequest{index, timeout});
  }
  std::int64_t size() { return ask<QueueStatus>(area, status_atom_v)->value->size; }

  StagingArea area = spawn(staging_area, options());
};

TEST_F(StagingAreaActor, GivesBackWhatWasPutWithoutACopy) {
  const auto element = batch_of(4, 1);
  put(element);
  const auto got = get();
  EXPECT_EQ(got->value->components[0].data(), element[0].data());
  EXPECT_EQ(got->value->components[0].shape(), Shape({1, 4, 2}));
}

TEST_F(StagingAreaActor, TakesBatchesOfDifferentLength) {
  put(batch_of(4, 1));
  EXPECT_FALSE(put(batch_of(3, 2))->fault) << "the last batch is shorter";
  get();
  EXPECT_EQ(get()->value->components[0].shape(), Shape({1, 3, 2}));
}

TEST_F(StagingAreaActor, LetsAPutWaitForRoom) {
  put(batch_of(1, 1));
  put(batch_of(1, 2));
  const auto third = put(batch_of(1, 3));
  EXPECT_TRUE(third->pending());
  get();
  EXPECT_FALSE(third->pending());
}

TEST_F(StagingAreaActor, LetsAPutWaitForRoomInBytes) {
  auto bytes = options();
  bytes.capacity = QueueOptions::kUnbounded;
  bytes.capacity_bytes = 20;
  area = spawn(staging_area, bytes);
  put(batch_of(2, 1));
  const auto second = put(batch_of(1, 2));
  EXPECT_TRUE(second->pending());
  get();
  EXPECT_FALSE(second->pending());
  EXPECT_THAT(put(batch_of(3, 3))->words(),
              HasSubstr("has 24 bytes, but the queue holds 20 (QueueOptions::capacity_bytes)"));
}

TEST_F(StagingAreaActor, ShowsAnElementThatStaysInside) {
  put(batch_of(1, 1));
  put(batch_of(1, 2));
  EXPECT_EQ(peek(1)->value->components[0], Tensor::filled(DType::float32, {1, 1, 2}, 2));
  EXPECT_EQ(peek(0)->value->components[0], Tensor::filled(DType::float32, {1, 1, 2}, 1));
  EXPECT_EQ(size(), 2);
}

TEST_F(StagingAreaActor, LetsAPeekWaitForItsElement) {
  const auto second = peek(1);
  put(batch_of(1, 1));
  EXPECT_TRUE(second->pending());
  put(batch_of(1, 2));
  EXPECT_EQ(second->value->components[0], Tensor::filled(DType::float32, {1, 1, 2}, 2));
}

TEST_F(StagingAreaActor, ShowsAnElementThatADequeueIsWaitingFor) {
  const auto first = get();
  const auto seen = peek(0);
  put(batch_of(1, 1));
  EXPECT_FALSE(first->pending());
  EXPECT_FALSE(seen->pending());
}

TEST_F(StagingAreaActor, GivesUpAPeekInTime) {
  const auto seen = peek(0, milliseconds(10));
  advance(milliseconds(10));
  EXPECT_EQ(code_of(seen->fault), Code::deadline_exceeded);
  EXPECT_THAT(seen->words(), HasSubstr("element 0 was not there within 10 ms"));
}

TEST_F(StagingAreaActor, AnswersPeeksWhenItIsClosed) {
  const auto seen = peek(1);
  put(batch_of(1, 1));
  ask<caf::ok_atom>(area, caf::close_atom_v, CloseRequest{});
  EXPECT_EQ(code_of(seen->fault), Code::out_of_range);
  EXPECT_FALSE(peek(0)->fault) << "what is left can be seen";
}

TEST_F(StagingAreaActor, RefusesANegativePlace) {
  EXPECT_EQ(code_of(peek(-1)->fault), Code::invalid_argument);
}

TEST_F(StagingAreaActor, DropsAPeekWhoseClientDies) {
  const auto viewer = client();
  const auto seen = ask_as<Batch>(viewer, area, peek_atom_v, PeekRequest{});
  kill(viewer);
  put(batch_of(1, 1));
  EXPECT_EQ(size(), 1);
  EXPECT_TRUE(seen->pending());
}

TEST_F(StagingAreaActor, MakesRoomWhenItIsCleared) {
  put(batch_of(1, 1));
  put(batch_of(1, 2));
  const auto waiting = put(batch_of(1, 3));
  ask<caf::ok_atom>(area, clear_atom_v);
  EXPECT_FALSE(waiting->pending());
  EXPECT_EQ(size(), 1);
  EXPECT_EQ(get()->value->components[0], Tensor::filled(DType::float32, {1, 1, 2}, 3));
}

TEST_F(StagingAreaActor, IsAQueueForThoseWhoKnowQueuesOnly) {
  const Queue queue = area;
  EXPECT_EQ(ask<QueueStatus>(queue, status_atom_v)->value->kind, "StagingArea");
}

}  // namespace
}  // namespace troupe
