#include "troupe/queues/shared_queues.h"

#include <gmock/gmock.h>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

QueueOptions holding(std::int64_t capacity) {
  QueueOptions options;
  options.capacity = capacity;
  options.components = {{"x", {DType::int64, {}}}};
  return options;
}

class SharedQueuesTest : public test::ActorTest {
 protected:
  std::string names() const {
    std::string names;
    for (const auto& queue : shared.list())
      names += queue.name.container + "/" + queue.name.name + " ";
    return names;
  }
  template <class Work>
  static std::string refusal(Work work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return error.what();
    }
    return "";
  }

  SharedQueues shared{system};
};

TEST_F(SharedQueuesTest, GiveTheSameQueueToWhoeverAsksForTheName) {
  const auto one = shared.fifo_queue({"n"}, holding(3));
  const auto other = shared.fifo_queue({"n"}, holding(3));
  EXPECT_EQ(one, other);
  ask<caf::ok_atom>(one, enqueue_atom_v, test::block_of({7}), EnqueueOptions{});
  EXPECT_THAT(test::numbers(*ask<Batch>(other, dequeue_atom_v, DequeueRequest{})->value),
              ElementsAre(7));
}

TEST_F(SharedQueuesTest, CallTheQueueByItsSharedName) {
  const auto queue = shared.fifo_queue({"n"}, holding(3));
  EXPECT_EQ(ask<QueueStatus>(queue, status_atom_v)->value->name, "n");
}

TEST_F(SharedQueuesTest, KeepContainersApart) {
  EXPECT_NE(shared.fifo_queue({"n", "a"}, holding(3)), shared.fifo_queue({"n", "b"}, holding(4)));
}

TEST_F(SharedQueuesTest, LeavePrivateQueuesAlone) {
  auto options = holding(3);
  options.name = "n";
  const Queue mine = spawn(fifo_queue, options);
  EXPECT_NE(shared.fifo_queue({"n"}, holding(3)), mine);
}

TEST_F(SharedQueuesTest, CompareEveryAttribute) {
  shared.fifo_queue({"n"}, holding(3));
  const auto asking = [this](auto change) {
    auto options = holding(3);
    change(options);
    return refusal([&] { shared.fifo_queue({"n"}, options); });
  };
  EXPECT_EQ(asking([](auto& o) { o.capacity = 4; }),
            "shared queue 'n' has capacity 3, but capacity 4 was asked for");
  EXPECT_EQ(asking([](auto& o) { o.capacity_bytes = 9; }),
            "shared queue 'n' has capacity_bytes 0, but capacity_bytes 9 was asked for");
  EXPECT_EQ(asking([](auto& o) { o.producers = 2; }),
            "shared queue 'n' has producers 1, but producers 2 was asked for");
  EXPECT_EQ(asking([](auto& o) { o.components[0].spec.dtype = DType::int32; }),
            "shared queue 'n' has component dtypes (int64), but component dtypes (int32) was "
            "asked for");
  EXPECT_EQ(asking([](auto& o) { o.components[0].spec.shape = {2}; }),
            "shared queue 'n' has component shapes ([]), but component shapes ([2]) was asked for");
  EXPECT_EQ(asking([](auto& o) { o.components.clear(); }),
            "shared queue 'n' has component dtypes (int64), but component dtypes () was asked for");
  EXPECT_EQ(asking([](auto& o) { o.components[0].name = "y"; }), "") << "names are for messages";
}

TEST_F(SharedQueuesTest, CompareFloorAndSeedOfAShuffleQueue) {
  RandomShuffleQueueOptions options;
  options.min_after_dequeue = 5;
  options.seed = 1;
  shared.random_shuffle_queue({"n", "c"}, options);
  options.seed = 2;
  EXPECT_EQ(refusal([&] {
              shared.random_shuffle_queue({"n", "c"}, options);
            }),
            "shared queue 'n' of container 'c' has seed 1, but seed 2 was asked for");
  options.min_after_dequeue = 6;
  EXPECT_THAT(refusal([&] {
                shared.random_shuffle_queue({"n", "c"}, options);
              }),
              HasSubstr("has min_after_dequeue 5, but min_after_dequeue 6"));
}

TEST_F(SharedQueuesTest, ComparePadding) {
  QueueOptions options;
  options.components = {{"x", {DType::int64, {Shape::kUnknown}}}};
  options.padding = ElementPadding{{-1}};
  shared.padding_fifo_queue({"n"}, options);
  options.padding = ElementPadding{{-2}};
  EXPECT_THAT(
      refusal([&] { shared.padding_fifo_queue({"n"}, options); }),
      StartsWith("shared queue 'n' has padding of at most 1073741824 bytes with (-1), but"));
}

TEST_F(SharedQueuesTest, RefuseAnotherKindUnderTheName) {
  shared.fifo_queue({"n"}, holding(3));
  EXPECT_EQ(refusal([&] { shared.priority_queue({"n"}, holding(3)); }),
            "shared queue 'n' has kind FIFOQueue, but kind PriorityQueue was asked for");
  EXPECT_THAT(refusal([&] { shared.barrier({"n"}, {}); }), HasSubstr("kind Barrier"));
}

TEST_F(SharedQueuesTest, ShareStagingAreasAndBarriersToo) {
  EXPECT_EQ(shared.staging_area({"s"}, holding(3)), shared.staging_area({"s"}, holding(3)));
  BarrierOptions pairs;
  pairs.components = holding(1).components;
  EXPECT_EQ(shared.barrier({"b"}, pairs), shared.barrier({"b"}, pairs));
}

TEST_F(SharedQueuesTest, RefuseNamesThatPrivateOnesMayHave) {
  EXPECT_THAT(refusal([&] { shared.fifo_queue({""}, holding(3)); }), HasSubstr("is not empty"));
  EXPECT_THAT(refusal([&] { shared.fifo_queue({"_n"}, holding(3)); }),
              HasSubstr("does not begin with '_'"));
  EXPECT_EQ(names(), "");
}

TEST_F(SharedQueuesTest, ListWhatThereIs) {
  shared.fifo_queue({"n", "b"}, holding(3));
  shared.fifo_queue({"z", "a"}, holding(3));
  EXPECT_EQ(names(), "a/z b/n ");
  EXPECT_EQ(shared.list()[0].description,
            "FIFOQueue, capacity 3, capacity_bytes 0, producers 1, padding none, only_when_full "
            "false, producer_patience -1 ms, component dtypes (int64), component shapes ([])");
}

TEST_F(SharedQueuesTest, KeepAQueueThatIsClosedUntilItIsRemoved) {
  const auto queue = shared.fifo_queue({"n"}, holding(3));
  ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{});
  EXPECT_EQ(shared.fifo_queue({"n"}, holding(3)), queue);
  shared.remove({"n"});
  EXPECT_NE(shared.fifo_queue({"n"}, holding(5)), queue) << "a new one, as it is asked for";
}

TEST_F(SharedQueuesTest, AnswerThoseWhoWaitOnAQueueThatIsRemoved) {
  const auto batch =
      ask<Batch>(shared.fifo_queue({"n"}, holding(3)), dequeue_atom_v, DequeueRequest{});
  shared.remove({"n"});
  settle();
  EXPECT_EQ(code_of(batch->fault), Code::cancelled);
}

TEST_F(SharedQueuesTest, SayWhatThereIsWhenANameIsNot) {
  shared.fifo_queue({"n", "c"}, holding(3));
  try {
    shared.remove({"n"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_STREQ(error.what(), "there is no shared queue 'n'; there is 'n' of container 'c'");
  }
}

TEST_F(SharedQueuesTest, ResetOneContainerAndNoOther) {
  shared.fifo_queue({"n", "a"}, holding(3));
  shared.fifo_queue({"m", "a"}, holding(3));
  shared.fifo_queue({"n", "b"}, holding(3));
  EXPECT_EQ(shared.reset("a"), 2u);
  EXPECT_EQ(names(), "b/n ");
  EXPECT_EQ(shared.reset("a"), 0u);
}

}  // namespace
}  // namespace troupe
