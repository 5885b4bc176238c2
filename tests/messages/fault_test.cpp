#include "troupe/messages/fault.h"

#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>

#include "support/actor_test.h"

namespace troupe {
namespace {

TEST(Fault, KeepsCodeAndWordsOfAnError) {
  const auto error = to_error(fault(Error(Code::data_loss, "a.txt:7: field 3 is missing")));
  EXPECT_EQ(error.code(), Code::data_loss);
  EXPECT_STREQ(error.what(), "a.txt:7: field 3 is missing");
}

TEST(Fault, TranslatesTheErrorsOfTheActorSystem) {
  EXPECT_EQ(code_of(caf::make_error(caf::sec::request_timeout)), Code::deadline_exceeded);
  EXPECT_EQ(code_of(caf::make_error(caf::sec::request_receiver_down)), Code::unavailable);
}

TEST(Fault, SaysInWordsThatAnActorWasKilledOrHasEnded) {
  EXPECT_STREQ(to_error(caf::exit_reason::kill).what(), "it was killed");
  EXPECT_STREQ(to_error(caf::sec::request_receiver_down).what(), "it has ended");
}

TEST(ThreadBudget, ReplacesZeroByTheSchedulableCpus) {
  const auto budget = ThreadBudget{0, 3}.resolved();
  EXPECT_EQ(budget.inter_op, schedulable_cpus());
  EXPECT_EQ(budget.intra_op, 3);
  EXPECT_THROW((ThreadBudget{-1, 0}.resolved()), Error);
}

class Messages : public test::ActorTest {};

TEST_F(Messages, CarryTensorsWithoutACopy) {
  const auto sent = Tensor::of<float>({2}, {1, 2});
  const auto echo = spawn(
      [](caf::event_based_actor*) -> caf::behavior { return {[](const Tensor& t) { return t; }}; });
  const auto answer = ask<Tensor>(echo, sent);
  ASSERT_TRUE(answer->value) << answer->words();
  EXPECT_EQ(answer->value->data(), sent.data());
}

TEST_F(Messages, SurviveSerialisation) {
  auto sent = Tensor::of<std::int64_t>({2, 2}, {1, -2, 3, 4});
  caf::binary_serializer::container_type bytes;
  caf::binary_serializer sink(system, bytes);
  ASSERT_FALSE(sink(sent));
  Tensor received;
  caf::binary_deserializer source(system, bytes);
  ASSERT_FALSE(source(received));
  EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace troupe
