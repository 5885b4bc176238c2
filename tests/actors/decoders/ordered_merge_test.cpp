#include "troupe/actors/decoders/ordered_merge.h"

#include <gmock/gmock.h>

#include <caf/scoped_actor.hpp>

#include "actors/decoders/listed_source.h"
#include "support/actor_test.h"
#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ElementBlock block(std::uint64_t sequence, std::vector<std::int64_t> values) {
  ElementBlock block;
  block.sequence = sequence;
  for (const auto value : values) block.elements.push_back({Tensor::scalar(value)});
  return block;
}

std::vector<std::int64_t> numbers(const Batch& batch) {
  const auto values = batch.components.at(0).read<std::int64_t>();
  return {values.begin(), values.end()};
}

class OrderedMerge : public test::ActorTest {
 protected:
  // Whoever still waits is answered, so that every actor can end.
  void TearDown() override {
    caf::anon_send_exit(merge, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(queue, caf::exit_reason::user_shutdown);
  }
  auto put(std::uint64_t sequence, std::vector<std::int64_t> values) {
    return ask<caf::ok_atom>(merge, enqueue_atom_v, block(sequence, std::move(values)),
                             EnqueueOptions{});
  }
  auto attach(const caf::actor& client) {
    return ask_as<caf::ok_atom>(client, merge, attach_atom_v);
  }
  auto detach(const caf::actor& client, const CloseReason& reason = {}) {
    return ask_as<caf::ok_atom>(client, merge, detach_atom_v, reason);
  }
  auto dequeue(std::int64_t count) {
    return ask<Batch>(merge, dequeue_atom_v, DequeueRequest{count});
  }
  QueueStatus status() { return *ask<QueueStatus>(merge, status_atom_v)->value; }

  static QueueOptions options() {
    QueueOptions options;
    options.name = "q";
    options.capacity = 4;
    return options;
  }
  Queue queue = spawn(fifo_queue, options());
  Queue merge = spawn(ordered_merge, queue, std::vector<std::int64_t>{2}, std::size_t{0});
};

TEST_F(OrderedMerge, LetsBlocksInByTheirSequence) {
  const auto second = put(1, {2, 3});
  const auto third = put(2, {4});
  EXPECT_TRUE(second->pending());
  put(0, {1});
  EXPECT_FALSE(second->pending());
  EXPECT_FALSE(third->pending());
  EXPECT_THAT(numbers(*dequeue(4)->value), ElementsAre(1, 2, 3, 4));
}

TEST_F(OrderedMerge, PassesEmptyBlocks) {
  const auto second = put(1, {2});
  put(0, {});
  EXPECT_FALSE(second->pending());
}

TEST_F(OrderedMerge, AnswersWhenTheQueueHasTheBlock) {
  const auto first = put(0, {1, 2, 3, 4, 5});
  EXPECT_TRUE(first->pending());
  dequeue(1);
  EXPECT_FALSE(first->pending());
}

TEST_F(OrderedMerge, RefusesABlockThatComesTwice) {
  put(0, {1});
  EXPECT_EQ(code_of(put(0, {1})->fault), Code::invalid_argument);
}

TEST_F(OrderedMerge, IsOneProducerOfItsQueue) {
  const auto a = client();
  const auto b = client();
  attach(a);
  detach(a);
  EXPECT_FALSE(status().closed) << "a second decoder is still to come";
  attach(b);
  EXPECT_EQ(status().producers, 1);
  detach(b);
  EXPECT_TRUE(status().closed);
}

TEST_F(OrderedMerge, WaitsForADecoderThatIsExpectedLater) {
  const auto whole = caf::actor_cast<troupe::OrderedMerge>(merge);
  const auto a = client();
  const auto b = client();
  const auto later = client();
  attach(a);
  attach(b);
  caf::anon_send(merge, expect_atom_v, std::string("decoder 2"), later);
  caf::anon_send(whole, join_atom_v, later, std::uint32_t{0});
  settle();
  detach(a);
  detach(b);
  EXPECT_FALSE(status().closed);
  attach(later);
  put(0, {1});
  detach(later);
  EXPECT_TRUE(status().closed);
  EXPECT_THAT(numbers(*dequeue(1)->value), ElementsAre(1));
}

TEST_F(OrderedMerge, ClosesTheQueueWithTheFirstFailure) {
  const auto a = client();
  attach(a);
  const auto waiting = put(1, {2});
  detach(a, {Code::data_loss, "a.txt:1: torn"});
  EXPECT_EQ(code_of(waiting->fault), Code::cancelled);
  EXPECT_EQ(code_of(dequeue(1)->fault), Code::data_loss);
  EXPECT_EQ(code_of(put(0, {1})->fault), Code::cancelled);
}

TEST_F(OrderedMerge, ClosesTheQueueWhenADecoderDies) {
  const auto a = client();
  attach(a);
  kill(a);
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("a decoder ended without a word"));
}

TEST_F(OrderedMerge, EndsWhenItsQueueIsClosed) {
  ask<caf::ok_atom>(merge, caf::close_atom_v, CloseRequest{true, {Code::out_of_range, "enough"}});
  EXPECT_EQ(code_of(put(0, {1})->fault), Code::cancelled);
}

// Real threads, and decoders that take turns as the scheduler likes.
TEST(OrderedMergeOnThreads, GivesTheOrderOfOneDecoderToMany) {
  constexpr int kRecords = 5000;
  constexpr std::int64_t kDecoders = 4;
  SystemConfig config({4, 1});
  caf::actor_system system(config);
  const auto source = std::make_shared<test::ListedSource>(test::numbers_below(kRecords), 7);
  const Reader reader = system.spawn<caf::detached>(
      record_reader, std::shared_ptr<RecordSource>(source), ReaderOptions{});
  QueueOptions options;
  options.capacity = 50;
  const Queue queue = system.spawn(fifo_queue, options);
  const Queue merge =
      system.spawn(ordered_merge, queue, std::vector<std::int64_t>{kDecoders}, std::size_t{0});
  for (int i = 0; i < kDecoders; ++i) {
    const auto tuple = std::make_shared<TupleDecoder>(
        std::vector<std::shared_ptr<RecordDecoder>>{std::make_shared<test::PlainNumberDecoder>()});
    const Decoder d = system.spawn(decoder, reader, merge, tuple);
    caf::anon_send(d, start_atom_v);
  }
  caf::scoped_actor self{system};
  std::vector<std::int64_t> order;
  bool more = true;
  while (more)
    self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{100, true})
        .receive(
            [&](const Batch& batch) {
              for (const auto value : numbers(batch)) order.push_back(value);
            },
            [&](const caf::error& why) {
              EXPECT_EQ(code_of(why), Code::out_of_range) << render(why);
              more = false;
            });
  ASSERT_EQ(order.size(), static_cast<std::size_t>(kRecords));
  for (int i = 0; i < kRecords; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

// ---- decoders that do not come ---------------------------------------------------------------

TEST_F(OrderedMerge, MissesADecoderThatEndsBeforeItAttaches) {
  const auto a = client();
  const auto b = client();
  caf::anon_send(merge, expect_atom_v, "decoder 0", a);
  caf::anon_send(merge, expect_atom_v, "decoder 1", b);
  const auto batch = dequeue(1);
  kill(b);
  EXPECT_THAT(batch->words(), HasSubstr("'decoder 1' ended before it attached"));
  EXPECT_EQ(code_of(attach(a)->fault), Code::cancelled);
}

TEST_F(OrderedMerge, MissesADecoderAlsoWhileAnotherOneDecodes) {
  const auto a = client();
  const auto b = client();
  caf::anon_send(merge, expect_atom_v, "decoder 0", a);
  caf::anon_send(merge, expect_atom_v, "decoder 1", b);
  attach(a);
  const auto batch = dequeue(1);
  kill(b);
  EXPECT_THAT(batch->words(), HasSubstr("'decoder 1' ended before it attached"));
}

TEST_F(OrderedMerge, MissesADecoderThatWasNeverSpawned) {
  caf::anon_send(merge, expect_atom_v, "decoder 0", caf::actor());
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("'decoder 0' was never spawned"));
}

TEST_F(OrderedMerge, HearsThatADecoderWillNotCome) {
  const auto a = client();
  caf::anon_send(merge, expect_atom_v, "decoder 0", a);
  detach(a, {Code::cancelled, "the decoder has been stopped"});
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("the decoder has been stopped"));
}

}  // namespace
}  // namespace troupe
