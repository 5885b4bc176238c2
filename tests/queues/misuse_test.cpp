#include <gmock/gmock.h>

#include <limits>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/queues/barrier.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/padding_fifo_queue.h"
#include "troupe/queues/priority_queue.h"
#include "troupe/queues/staging_area.h"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
constexpr Timeout kEternity = Timeout::max();

/// Numbers that nobody means, given to queues of every kind.
class QueueMisuse : public test::ActorTest {
 protected:
  ~QueueMisuse() override {
    for (const auto& queue : queues) caf::anon_send_exit(queue, caf::exit_reason::user_shutdown);
  }
  template <class Make>
  Queue make(Make kind, std::int64_t capacity = 4) {
    QueueOptions options;
    options.name = "q";
    options.capacity = capacity;
    return queues.emplace_back(caf::actor_cast<Queue>(spawn(kind, options)));
  }
  /// A FIFO queue, one that pads, one that wants all elements together, and a staging area.
  std::vector<Queue> all_kinds() {
    return {make(fifo_queue), make(padding_fifo_queue), make(priority_queue), make(staging_area)};
  }
  auto put(const Queue& queue, std::vector<Element> elements, const EnqueueOptions& options = {}) {
    return ask<caf::ok_atom>(queue, enqueue_atom_v, ElementBlock{0, std::move(elements)}, options);
  }
  auto take(const Queue& queue, std::int64_t count, bool up_to = false,
            Timeout timeout = kForever) {
    return ask<Batch>(queue, dequeue_atom_v, DequeueRequest{count, up_to, timeout});
  }
  auto close(const Queue& queue, bool cancel = true) {
    return ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{cancel, {}});
  }
  std::vector<Queue> queues;
};

TEST_F(QueueMisuse, CountsMayBeAnything) {
  for (const auto& queue : all_kinds()) {
    put(queue, {test::number(1), test::number(2)});
    for (const auto count : {kLeast, std::int64_t{-1}})
      EXPECT_EQ(code_of(take(queue, count)->fault), Code::invalid_argument);
    EXPECT_EQ(take(queue, 0)->value->rows(), 0);
    const auto giant = take(queue, kMost, true, Timeout(1000));
    EXPECT_TRUE(giant->pending());
    close(queue);
    EXPECT_EQ(giant->value->rows(), 2) << "what there is";
    EXPECT_EQ(code_of(take(queue, kMost)->fault), Code::out_of_range);
    EXPECT_EQ(code_of(take(queue, kMost, true)->fault), Code::out_of_range);
    EXPECT_EQ(take(queue, 0)->value->rows(), 0) << "also after the close";
  }
}

TEST_F(QueueMisuse, TimeoutsMayBeEternal) {
  for (const auto& queue : all_kinds()) {
    const auto batch = take(queue, 1, false, kEternity);
    advance(std::chrono::hours(1));
    EXPECT_TRUE(batch->pending());
    put(queue, {test::number(1)}, {.timeout = kEternity});
    EXPECT_TRUE(batch->value);
    const auto full = put(queue, std::vector<Element>(9, test::number(2)), {.timeout = kEternity});
    const auto closed =
        ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{false, {}, kEternity});
    advance(std::chrono::hours(1));
    EXPECT_TRUE(full->pending());
    EXPECT_TRUE(closed->pending());
    close(queue);
    EXPECT_FALSE(full->pending());
    EXPECT_FALSE(closed->pending());
  }
}

TEST_F(QueueMisuse, TimeoutsMayBeNothingAtAll) {
  for (const auto& queue : all_kinds()) {
    const auto batch = take(queue, 1, false, Timeout::zero());
    advance(std::chrono::milliseconds(1));
    EXPECT_EQ(code_of(batch->fault), Code::deadline_exceeded);
    put(queue, {test::number(1)}, {.timeout = Timeout::zero()});
    EXPECT_TRUE(take(queue, 1, false, Timeout::zero())->value) << "what is there is given";
  }
}

TEST_F(QueueMisuse, LooksIntoAStagingAreaMayAimAnywhere) {
  const auto area = spawn(staging_area, QueueOptions());
  queues.push_back(caf::actor_cast<Queue>(area));
  put(queues[0], {test::number(1)});
  const auto peek = [&](std::int64_t index) {
    return ask<Batch>(area, peek_atom_v, PeekRequest{index, kEternity});
  };
  for (const auto index : {kLeast, std::int64_t{-1}, kMost})
    EXPECT_EQ(code_of(peek(index)->fault), Code::invalid_argument) << index;
  const auto far = peek(kMost - 1);
  EXPECT_TRUE(far->pending());
  close(queues[0]);
  EXPECT_THAT(far->words(), HasSubstr("is closed and has insufficient elements"));
  EXPECT_TRUE(peek(0)->value);
  ask<caf::ok_atom>(area, clear_atom_v);
  ask<caf::ok_atom>(area, clear_atom_v);
  EXPECT_EQ(code_of(peek(0)->fault), Code::out_of_range);
}

TEST_F(QueueMisuse, ElementsMayBeAnything) {
  const std::vector<Element> strange{
      {},
      {Tensor()},
      {Tensor(DType::string, {0})},
      {Tensor(DType::float16, {2})},
      {Tensor(DType::boolean, {3, 0})},
      {Tensor(DType::int64, Shape(std::vector<std::int64_t>(Shape::kMaxRank, 1)))},
      {test::number(1)[0], Tensor(DType::string, {})}};
  for (const auto& first : strange)
    for (const auto& queue : all_kinds()) {
      const auto in = put(queue, {first});
      EXPECT_FALSE(in->pending());
      for (const auto& other : strange) put(queue, {other}, {.timeout = Timeout::zero()});
      advance(std::chrono::milliseconds(1));
      close(queue);
      const auto out = take(queue, 1);
      EXPECT_FALSE(out->pending());
      EXPECT_TRUE(in->fault || out->value) << out->words();
    }
}

TEST_F(QueueMisuse, AskingAQueueThatIsGoneIsAnErrorAndNoWait) {
  for (const auto& queue : all_kinds()) {
    const auto batch = take(queue, 1);
    kill(caf::actor_cast<caf::actor>(queue));
    EXPECT_FALSE(batch->pending());
    EXPECT_FALSE(take(queue, 1)->pending());
    EXPECT_FALSE(put(queue, {test::number(1)})->pending());
    EXPECT_FALSE(close(queue)->pending());
  }
}

TEST_F(QueueMisuse, OptionsThatMakeNoSenseAreTheReasonOfTheClose) {
  const auto words = [this](auto change) {
    QueueOptions options;
    options.name = "q";
    change(options);
    const auto queue = spawn(fifo_queue, std::move(options));
    queues.push_back(queue);
    EXPECT_EQ(code_of(put(queue, {test::number(1)})->fault), Code::cancelled);
    return take(queue, 1)->words();
  };
  EXPECT_THAT(words([](auto& o) { o.capacity = 0; }), HasSubstr("capacity is 0"));
  EXPECT_THAT(words([](auto& o) { o.capacity = kLeast; }),
              HasSubstr("capacity is -9223372036854775808"));
  EXPECT_THAT(words([](auto& o) {
                o.components = {{"x", {DType::float32, {-1}}}, {"n", {DType::int64, {}}}};
                o.padding.emplace().values = {1, 2, 3};
              }),
              HasSubstr("FIFOQueue 'q': 3 padding values for 2 components"));
}

TEST(Padding, HoldsOnlyWhatItsDtypeCanHold) {
  const auto make = [](DType dtype, double value) {
    QueueOptions options;
    options.components = {{"x", {dtype, {-1}}}};
    options.padding.emplace().values = {value};
    test::QueueDriver driver(options);
  };
  constexpr auto kNan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](DType dtype, double value) {
    EXPECT_THROW(make(dtype, value), Error) << dtype << ' ' << value;
  };
  for (const auto dtype : {DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8}) {
    refused(dtype, kNan);
    refused(dtype, std::numeric_limits<double>::infinity());
    refused(dtype, 1e300);
    refused(dtype, 0.5);
    EXPECT_NO_THROW(make(dtype, 7));
    EXPECT_NO_THROW(make(dtype, 0));
  }
  refused(DType::int8, 128);
  refused(DType::int8, -129);
  EXPECT_NO_THROW(make(DType::int8, -128));
  refused(DType::uint8, -1);
  EXPECT_NO_THROW(make(DType::uint8, 255));
  refused(DType::int64, 0x1p63);
  EXPECT_NO_THROW(make(DType::int64, -0x1p63));
  refused(DType::boolean, 2);
  refused(DType::float16, 1);
  for (const auto dtype : {DType::float32, DType::float64}) EXPECT_NO_THROW(make(dtype, kNan));
  EXPECT_NO_THROW(make(DType::float16, 0));
  EXPECT_NO_THROW(make(DType::string, 5));
}

class PaddingOfTheFirstElement : public QueueMisuse {};

TEST_F(PaddingOfTheFirstElement, IsCheckedWhenItComes) {
  QueueOptions options;
  options.name = "q";
  options.padding.emplace().values = {0.5, 1};
  const auto queue = spawn(fifo_queue, options);
  queues.push_back(queue);
  EXPECT_THAT(put(queue, {{Tensor(DType::float32, {1})}})->words(),
              HasSubstr("FIFOQueue 'q': 2 padding values for 1 components"));
  EXPECT_THAT(put(queue, {{Tensor(DType::int64, {1}), Tensor(DType::int64, {1})}})->words(),
              HasSubstr("the padding of component 0 is 0.5, but its dtype int64 does not hold"));
  EXPECT_TRUE(put(queue, {{Tensor(DType::float32, {1}), Tensor(DType::int64, {1})}})->value)
      << "what was refused leaves no trace";
}

// ---- barriers --------------------------------------------------------------------------------

class BarrierMisuse : public test::ActorTest {
 protected:
  ~BarrierMisuse() override { caf::anon_send_exit(pairs, caf::exit_reason::user_shutdown); }
  static BarrierOptions options() {
    return {.name = "b", .components = {{"x", {DType::float32, {2}}}, {"y", {DType::int64, {}}}}};
  }
  auto insert(std::int64_t component, std::vector<std::string> keys, const Tensor& values) {
    return ask<caf::ok_atom>(pairs, insert_atom_v,
                             BarrierInsert{component, std::move(keys), values});
  }
  auto take(std::int64_t count, bool small = false, Timeout timeout = kForever) {
    return ask<BarrierBatch>(pairs, take_atom_v, DequeueRequest{count, small, timeout});
  }
  Barrier pairs = spawn(barrier, options());
};

TEST_F(BarrierMisuse, ComponentsCountsAndTimesMayBeAnything) {
  for (const auto component : {kLeast, std::int64_t{-1}, std::int64_t{2}, kMost})
    EXPECT_EQ(code_of(insert(component, {"a"}, Tensor(DType::int64, {1}))->fault),
              Code::invalid_argument);
  for (const auto count : {kLeast, std::int64_t{-1}})
    EXPECT_EQ(code_of(take(count)->fault), Code::invalid_argument);
  EXPECT_TRUE(take(0)->value->keys.empty());
  const auto giant = take(kMost, true, kEternity);
  advance(std::chrono::hours(1));
  EXPECT_TRUE(giant->pending());
  insert(0, {"a"}, Tensor(DType::float32, {1, 2}));
  insert(1, {"a"}, Tensor(DType::int64, {1}));
  ask<caf::ok_atom>(pairs, caf::close_atom_v, CloseRequest{true, {}});
  EXPECT_EQ(giant->value->keys.size(), 1u);
}

TEST_F(BarrierMisuse, ValuesMayBeAnything) {
  for (const auto& values : {Tensor(), Tensor(DType::float32, {}), Tensor(DType::float32, {0}),
                             Tensor(DType::float64, {1, 2}), Tensor(DType::float32, {1, 3}),
                             Tensor(DType::float32, {2, 2}), Tensor(DType::string, {1, 2})})
    EXPECT_EQ(code_of(insert(0, {"a"}, values)->fault), Code::invalid_argument);
  EXPECT_TRUE(insert(0, {}, Tensor(DType::float32, {0, 2}))->value) << "nothing for nobody";
  EXPECT_TRUE(insert(0, {""}, Tensor(DType::float32, {1, 2}))->value) << "a key like any other";
  EXPECT_EQ(ask<BarrierStatus>(pairs, status_atom_v)->value->incomplete, 1);
}

TEST_F(BarrierMisuse, AskingOneThatIsGoneIsAnErrorAndNoWait) {
  const auto batch = take(1);
  kill(caf::actor_cast<caf::actor>(pairs));
  EXPECT_FALSE(batch->pending());
  EXPECT_FALSE(take(1)->pending());
  EXPECT_FALSE(insert(0, {"a"}, Tensor(DType::float32, {1, 2}))->pending());
}

}  // namespace
}  // namespace troupe
