#include "troupe/queues/barrier.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Keys = std::vector<std::string>;

class BarrierActor : public test::ActorTest {
 protected:
  // Whoever still waits is answered, so that every actor can end.
  void TearDown() override { caf::anon_send_exit(pairs, caf::exit_reason::user_shutdown); }

  static BarrierOptions options() {
    BarrierOptions options;
    options.name = "pairs";
    options.components = {{"image", {DType::float32, {2}}}, {"label", {DType::int64, {}}}};
    return options;
  }
  auto insert(std::int64_t component, const Keys& keys, const Tensor& values) {
    return ask<caf::ok_atom>(pairs, insert_atom_v, BarrierInsert{component, keys, values});
  }
  /// Images whose values are those of the rows.
  auto images(const Keys& keys, const std::vector<float>& rows) {
    std::vector<float> values;
    for (const auto row : rows) values.insert(values.end(), 2, row);
    return insert(0, keys, Tensor::of<float>({static_cast<std::int64_t>(rows.size()), 2}, values));
  }
  auto labels(const Keys& keys, const std::vector<std::int64_t>& rows) {
    return insert(1, keys,
                  Tensor::of<std::int64_t>({static_cast<std::int64_t>(rows.size())}, rows));
  }
  auto take(std::int64_t count, bool small = false, Timeout timeout = kForever) {
    return ask<BarrierBatch>(pairs, take_atom_v, DequeueRequest{count, small, timeout});
  }
  auto close(bool cancel = false, const CloseReason& reason = {}) {
    return ask<caf::ok_atom>(pairs, caf::close_atom_v, CloseRequest{cancel, reason});
  }
  BarrierStatus status() { return *ask<BarrierStatus>(pairs, status_atom_v)->value; }

  Barrier pairs = spawn(barrier, options());
};

TEST_F(BarrierActor, PutsComponentsTogetherByTheirKeys) {
  images({"a", "b"}, {1, 2});
  EXPECT_EQ(status().incomplete, 2);
  EXPECT_EQ(status().ready, 0);
  labels({"b", "a"}, {20, 10});
  EXPECT_EQ(status().incomplete, 0);
  EXPECT_EQ(status().ready, 2);
  const auto batch = *take(2)->value;
  EXPECT_THAT(batch.keys, ElementsAre("a", "b"));
  EXPECT_EQ(batch.components[0], Tensor::of<float>({2, 2}, {1, 1, 2, 2}));
  EXPECT_EQ(batch.components[1], Tensor::of<std::int64_t>({2}, {10, 20}));
  EXPECT_EQ(status().ready, 0);
}

TEST_F(BarrierActor, GivesCompleteElementsInTheOrderOfTheirKeys) {
  images({"a", "b", "c"}, {1, 2, 3});
  labels({"c"}, {30});
  EXPECT_THAT(take(1)->value->keys, ElementsAre("c")) << "nobody waits for a and b";
  labels({"b"}, {20});
  labels({"a"}, {10});
  EXPECT_THAT(take(2)->value->keys, ElementsAre("a", "b")) << "a came first, completed last";
}

TEST_F(BarrierActor, SaysWhichInsertEachKeyCameWith) {
  images({"a", "b"}, {1, 2});
  labels({"a"}, {10});  // no new key: it does not count
  labels({"c", "b"}, {30, 20});
  images({"c"}, {3});
  images({"a"}, {4});
  labels({"a"}, {11});
  const auto batch = *take(4)->value;
  EXPECT_THAT(batch.keys, ElementsAre("a", "b", "c", "a"));
  EXPECT_THAT(batch.indices, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(take(0)->value->indices, IsEmpty());
}

TEST_F(BarrierActor, DoesNotCountAnInsertThatIsRefused) {
  images({"a"}, {1});
  images({"b", "a"}, {2, 3});
  images({"b"}, {2});
  labels({"a", "b"}, {10, 20});
  EXPECT_THAT(take(2)->value->indices, ElementsAre(0, 1));
}

TEST_F(BarrierActor, LetsATakeWaitUntilEnoughAreComplete) {
  const auto batch = take(2);
  images({"a", "b"}, {1, 2});
  labels({"a"}, {10});
  EXPECT_TRUE(batch->pending());
  EXPECT_EQ(status().ready, 1) << "nothing is taken ahead";
  labels({"b"}, {20});
  EXPECT_THAT(batch->value->keys, ElementsAre("a", "b"));
}

TEST_F(BarrierActor, ServesTheFirstTakeFirst) {
  const auto many = take(2);
  const auto one = take(1);
  images({"a", "b", "c"}, {1, 2, 3});
  labels({"a"}, {10});
  EXPECT_TRUE(one->pending());
  labels({"b", "c"}, {20, 30});
  EXPECT_THAT(many->value->keys, ElementsAre("a", "b"));
  EXPECT_THAT(one->value->keys, ElementsAre("c"));
}

TEST_F(BarrierActor, RefusesASecondValueForAComponent) {
  images({"a"}, {1});
  const auto again = images({"b", "a"}, {2, 3});
  EXPECT_EQ(code_of(again->fault), Code::invalid_argument);
  EXPECT_THAT(again->words(),
              HasSubstr("Barrier 'pairs': key 'a' already has a value for component 0 'image'"));
  EXPECT_EQ(status().incomplete, 1) << "an insert that is refused leaves nothing behind";
  EXPECT_THAT(images({"c", "c"}, {4, 5})->words(), HasSubstr("key 'c' already has a value"));
}

TEST_F(BarrierActor, TakesAKeyAgainOnceItIsComplete) {
  images({"a"}, {1});
  labels({"a"}, {10});
  images({"a"}, {2});
  EXPECT_EQ(status().ready, 1);
  EXPECT_EQ(status().incomplete, 1);
}

TEST_F(BarrierActor, ChecksTheValues) {
  EXPECT_THAT(insert(2, {"a"}, Tensor(DType::float32, {1}))->words(),
              HasSubstr("there is no component 2; elements have 2, counted from 0"));
  EXPECT_THAT(insert(0, {"a"}, Tensor(DType::float32, {2, 2}))->words(),
              HasSubstr("the values of component 0 'image' for 1 keys are float32 [2, 2], but must "
                        "be float32 [1, 2]"));
  EXPECT_THAT(insert(1, {"a"}, Tensor(DType::float32, {1}))->words(), HasSubstr("int64 [1]"));
}

TEST_F(BarrierActor, DoesNotKeepTheValuesOfOtherKeysInMemory) {
  const auto values = Tensor::of<std::int64_t>({2}, {10, 20});
  labels({"x"}, {0});
  insert(1, {"a", "b"}, values);
  EXPECT_TRUE(values.unique());
}

TEST_F(BarrierActor, HoldsNoMoreThanItsCapacity) {
  auto small = options();
  small.capacity = 2;
  pairs = spawn(barrier, small);
  images({"a", "b"}, {1, 2});
  const auto more = images({"c"}, {3});
  EXPECT_EQ(code_of(more->fault), Code::resource_exhausted);
  EXPECT_THAT(more->words(), HasSubstr("1 new keys would make 3, but at most 2 may be inside"));
  labels({"a", "b"}, {10, 20});
  EXPECT_TRUE(images({"c"}, {3})->fault) << "complete ones count until they are taken";
  take(1);
  EXPECT_FALSE(images({"c"}, {3})->fault);
}

TEST_F(BarrierActor, GivesAnEmptyBatchForZeroElements) {
  const auto batch = *take(0)->value;
  EXPECT_THAT(batch.keys, IsEmpty());
  EXPECT_EQ(batch.components[0].shape(), Shape({0, 2}));
  EXPECT_EQ(code_of(take(-1)->fault), Code::invalid_argument);
}

// ---- close -----------------------------------------------------------------------------------

TEST_F(BarrierActor, CompletesKnownKeysAfterTheClose) {
  images({"a", "b"}, {1, 2});
  close();
  const auto fresh = images({"c"}, {3});
  EXPECT_EQ(code_of(fresh->fault), Code::cancelled);
  EXPECT_THAT(fresh->words(), HasSubstr("Barrier 'pairs' is closed, and 'c' is new: end of data"));
  const auto batch = take(2);
  EXPECT_TRUE(batch->pending());
  labels({"a", "b"}, {10, 20});
  EXPECT_THAT(batch->value->keys, ElementsAre("a", "b"));
  EXPECT_EQ(code_of(take(1)->fault), Code::out_of_range);
}

TEST_F(BarrierActor, DropsIncompleteElementsWhenTheCloseCancels) {
  images({"a", "b"}, {1, 2});
  labels({"a"}, {10});
  close(true);
  EXPECT_EQ(status().incomplete, 0);
  EXPECT_EQ(code_of(labels({"b"}, {20})->fault), Code::cancelled);
  EXPECT_THAT(take(1)->value->keys, ElementsAre("a"));
}

TEST_F(BarrierActor, AnswersATakeThatCanNoMoreBeServed) {
  images({"a"}, {1});
  const auto two = take(2);
  close();
  EXPECT_EQ(two->words(),
            "out of range: Barrier 'pairs' is closed and has insufficient elements (requested 2, "
            "complete 0, incomplete 1): end of data");
}

TEST_F(BarrierActor, GivesASmallBatchAfterTheClose) {
  images({"a", "b"}, {1, 2});
  labels({"a"}, {10});
  const auto rest = take(3, true);
  EXPECT_TRUE(rest->pending()) << "while it is open a small batch waits for all";
  close();
  EXPECT_THAT(rest->value->keys, ElementsAre("a"));
}

// TensorFlow answers OutOfRange here although b may still be completed.
TEST_F(BarrierActor, LetsASmallBatchWaitForItsFirstElementUnlikeTensorFlow) {
  images({"b"}, {2});
  close();
  const auto rest = take(3, true);
  EXPECT_TRUE(rest->pending());
  labels({"b"}, {20});
  EXPECT_THAT(rest->value->keys, ElementsAre("b"));
  EXPECT_EQ(code_of(take(3, true)->fault), Code::out_of_range);
}

TEST_F(BarrierActor, MayBeClosedTwiceAndPrefersTheFailure) {
  close();
  close(true, {Code::data_loss, "a.txt:7: not a number"});
  close(false, {Code::internal, "later"});
  const auto late = take(1);
  EXPECT_EQ(code_of(late->fault), Code::data_loss);
  EXPECT_THAT(late->words(),
              StartsWith("data loss: a.txt:7: not a number; therefore Barrier 'pairs'"));
  EXPECT_TRUE(status().closed);
}

// ---- waiting ---------------------------------------------------------------------------------

TEST_F(BarrierActor, KeepsDeadlinesItself) {
  images({"a"}, {1});
  const auto batch = take(1, false, milliseconds(50));
  advance(milliseconds(50));
  EXPECT_EQ(code_of(batch->fault), Code::deadline_exceeded);
  EXPECT_THAT(batch->words(),
              HasSubstr("0 of 1 elements were complete within 50 ms, and 1 were not"));
  labels({"a"}, {10});
  EXPECT_EQ(status().ready, 1);
}

TEST_F(BarrierActor, DropsAClientThatDiesAndServesTheNext) {
  const auto consumer = client();
  ask_as<BarrierBatch>(consumer, pairs, take_atom_v, DequeueRequest{2});
  const auto next = take(1);
  images({"a"}, {1});
  labels({"a"}, {10});
  EXPECT_TRUE(next->pending());
  kill(consumer);
  EXPECT_THAT(next->value->keys, ElementsAre("a"));
}

TEST_F(BarrierActor, AnswersEverybodyWhenItEnds) {
  const auto batch = take(1);
  caf::anon_send_exit(pairs, caf::exit_reason::user_shutdown);
  settle();
  EXPECT_THAT(batch->words(), StartsWith("cancelled: Barrier 'pairs' has been stopped"));
}

TEST_F(BarrierActor, IsClosedFromTheStartWhenItsOptionsAreWrong) {
  auto open = options();
  open.components[0].spec.shape = {Shape::kUnknown};
  pairs = spawn(barrier, open);
  EXPECT_THAT(take(1)->words(),
              HasSubstr("component 0 'image' is float32 [?], but its shape must be known"));
  pairs = spawn(barrier, BarrierOptions{});
  EXPECT_THAT(take(1)->words(), HasSubstr("an element has at least one component"));
}

}  // namespace
}  // namespace troupe
