#include "troupe/ops/optim/schedule.h"

#include <gtest/gtest.h>

#include "support/message_of.h"
#include "support/reference_file.h"

namespace troupe::test {
namespace {

Schedule schedule_of(const ReferenceCase& c) {
  using namespace schedule;
  if (c.op == "piecewise_constant") return piecewise(c.numbers("boundaries"), c.numbers("values"));
  const auto rate = c.number("learning_rate");
  const auto steps = c.number("decay_steps");
  if (c.op == "polynomial_decay")
    return polynomial(rate, steps, c.number("end_learning_rate"), c.number("power"),
                      c.flag("cycle"));
  if (c.op == "cosine_decay") return cosine(rate, steps, c.number("alpha"));
  const auto decay = c.number("decay_rate");
  const auto staircase = c.flag("staircase");
  if (c.op == "exponential_decay") return exponential(rate, steps, decay, staircase);
  if (c.op == "natural_exp_decay") return natural_exp(rate, steps, decay, staircase);
  EXPECT_EQ(c.op, "inverse_time_decay");
  return inverse_time(rate, steps, decay, staircase);
}

TEST(Schedule, IsWhatTensorFlowComputes) {
  const auto cases = read_references(TROUPE_TEST_DATA "/schedules.txt");
  EXPECT_EQ(cases.size(), 15u);
  for (const auto& c : cases) {
    const auto schedule = schedule_of(c);
    const auto& steps = c.tensor("in0");
    const auto& rates = c.tensor("out0");
    // TensorFlow takes the cosine and the natural exponential in float32.
    const bool exact = c.op != "cosine_decay" && c.op != "natural_exp_decay";
    const double tolerance = exact ? 1e-14 : 1e-8;
    for (std::int64_t i = 0; i < steps.size(); ++i)
      EXPECT_NEAR(schedule.at(steps.read<std::int64_t>()[i]), rates.at(i), tolerance)
          << schedule << " at " << steps.at(i);
    EXPECT_EQ(parse_schedule(text(schedule)), schedule) << schedule;
  }
}

TEST(Schedule, StaircaseOfTheHeadlineProgram) {
  const auto rate = parse_schedule("exponential(0.1, 200, 0.8, staircase)");
  EXPECT_EQ(rate.at(0), 0.1);
  EXPECT_EQ(rate.at(199), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(200), 0.08);
  EXPECT_DOUBLE_EQ(rate.at(400), 0.064);
}

TEST(Schedule, WarmUpRisesInEqualStepsAndHandsOver) {
  const auto rate = schedule::warmup(3, schedule::exponential(0.4, 10, 0.5));
  EXPECT_DOUBLE_EQ(rate.at(0), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(1), 0.2);
  EXPECT_DOUBLE_EQ(rate.at(2), 0.3);
  EXPECT_DOUBLE_EQ(rate.at(3), 0.4);
  EXPECT_DOUBLE_EQ(rate.at(13), 0.2);
  EXPECT_EQ(parse_schedule("warmup(3, exponential(0.4, 10, 0.5))"), rate);
  EXPECT_EQ(text(rate), "warmup(3, exponential(0.4, 10, 0.5))");
  EXPECT_DOUBLE_EQ(parse_schedule("warmup(1, 0.2)").at(0), 0.1);
}

TEST(Schedule, IsANumberOrACallWithArgumentsInOrderOrByName) {
  EXPECT_EQ(parse_schedule("0.1"), Schedule(0.1));
  EXPECT_EQ(parse_schedule("constant(0.1)"), Schedule(0.1));
  EXPECT_EQ(text(Schedule(0.1)), "0.1");
  EXPECT_EQ(parse_schedule("polynomial(rate=0.1, steps=100, cycle)"),
            schedule::polynomial(0.1, 100, 0.0001, 1, true));
  EXPECT_EQ(parse_schedule("piecewise(0.1, 1000, 0.01)").at(1000), 0.1);
  EXPECT_EQ(parse_schedule("piecewise(0.1, 1000, 0.01)").at(1001), 0.01);
}

TEST(Schedule, SaysWhatIsWrong) {
  const auto complaint = [](const char* text) { return message_of([&] { parse_schedule(text); }); };
  EXPECT_EQ(complaint("linear(0.1)"),
            "no schedule is called 'linear'; there are: a number, constant, exponential, "
            "natural_exp, piecewise, polynomial, inverse_time, cosine, warmup");
  EXPECT_EQ(complaint("exponential(0.1, 200)"),
            "exponential needs factor; its parameters: rate, steps, factor, staircase");
  EXPECT_EQ(complaint("exponential(0.1, 0, 0.5)"), "exponential: steps is 0, but must be above 0");
  EXPECT_EQ(complaint("-0.1"), "constant: rate is -0.1, but must be at least 0");
  EXPECT_EQ(complaint("exponential(0.1, 200, -inf)"),
            "exponential: factor is -inf, but must be above 0");
  EXPECT_EQ(complaint("piecewise(0.1, 20, 0.01, 10, 0.001)"),
            "piecewise: the steps must grow, but 10 follows 20");
  EXPECT_EQ(complaint("piecewise(0.1, 20)"),
            "piecewise takes rates with a step between each two: piecewise(0.1, 1000, 0.01, 2000, "
            "0.001), but 2 numbers are given");
  EXPECT_EQ(complaint("warmup(10)"),
            "warmup takes a number of steps and a schedule: warmup(100, exponential(...))");
  EXPECT_EQ(complaint("warmup(1.5, 0.1)"),
            "warmup: steps is 1.5, but must be a whole number at least 0 and at most "
            "9007199254740992");
  EXPECT_EQ(complaint("warmup(1, warmup(1, 0.1))"),
            "warmup: what follows has a warm-up of its own");
  EXPECT_EQ(complaint(""),
            "\"\", character 1: a name or a number should stand here; a call looks like "
            "exponential(0.1, 200, 0.8, staircase)");
}

TEST(Schedule, SurvivesTextThatNestsForEver) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "warmup(1, ";
  EXPECT_THROW(parse_schedule(deep), Error);
}

}  // namespace
}  // namespace troupe::test
