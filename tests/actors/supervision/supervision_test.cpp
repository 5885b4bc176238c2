#include "troupe/actors/supervision/supervision.h"

#include <gmock/gmock.h>

#include <caf/exit_reason.hpp>
#include <set>

#include "support/message_of.h"
#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = Supervision::Verdict::Kind;

const caf::error kKilled = caf::exit_reason::kill;

/// No random share: delays are exact.
RestartOptions exactly(int most) {
  RestartOptions o;
  o.most = most;
  o.period = 10s;
  o.delay = 100ms;
  o.longest_delay = 1s;
  o.jitter = 0;
  return o;
}

class ASupervision : public ::testing::Test {
 protected:
  auto lose(const std::string& name, std::chrono::milliseconds at = 0ms) {
    return rules.ended(name, kKilled, Supervision::TimePoint(at));
  }
  Supervision rules{exactly(3)};
};

TEST_F(ASupervision, StartsAgainWhoWasLost) {
  rules.add({"a"});
  rules.add({"b"});
  const auto verdict = lose("a");
  EXPECT_EQ(verdict.kind, Kind::restart);
  EXPECT_THAT(verdict.children, ElementsAre("a"));
  EXPECT_EQ(verdict.restarts_left, 2);
  EXPECT_EQ(verdict.words,
            "a was lost: it was killed; it is started again in 100 ms, 2 of 3 restarts are left");
}

TEST_F(ASupervision, WaitsTwiceAsLongEachTime) {
  rules = Supervision(exactly(100));
  rules.add({"a"});
  rules.add({"b"});
  std::vector<std::int64_t> delays;
  for (int i = 0; i < 6; ++i) delays.push_back(lose("a").delay.count());
  EXPECT_THAT(delays, ElementsAre(100, 200, 400, 800, 1000, 1000));
  EXPECT_EQ(lose("b").delay, 100ms);
  EXPECT_EQ(lose("a", 10s).delay, 100ms);  // all before is forgotten
}

TEST_F(ASupervision, MakesDelaysLongerByARandomShareThatTheSeedDecides) {
  const auto delays = [](std::uint64_t seed) {
    auto o = exactly(20);
    o.jitter = 0.5;
    o.longest_delay = o.delay;
    o.seed = seed;
    Supervision rules(o);
    rules.add({"a"});
    std::vector<std::int64_t> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(rules.ended("a", kKilled, Supervision::TimePoint()).delay.count());
    return all;
  };
  const auto some = delays(1);
  EXPECT_EQ(some, delays(1));
  EXPECT_NE(some, delays(2));
  for (const auto delay : some) {
    EXPECT_GE(delay, 100);
    EXPECT_LE(delay, 150);
  }
  EXPECT_GT(std::set(some.begin(), some.end()).size(), 5u);
}

TEST_F(ASupervision, GivesUpWithTheWholeStoryWhenTheBudgetIsUsedUp) {
  rules.add({"a"});
  rules.add({"b"});
  lose("a");
  lose("b");
  EXPECT_EQ(rules.ended("a", fault(Code::internal, "no memory"), Supervision::TimePoint(1s)).kind,
            Kind::restart);
  const auto last = lose("b", 2s);
  EXPECT_EQ(last.kind, Kind::give_up);
  EXPECT_EQ(to_error(last.failure).what(),
            std::string("all 3 restarts within 10000 ms are used up (restarts.most):\n"
                        "  a was lost: it was killed\n"
                        "  b was lost: it was killed\n"
                        "  a was lost: internal: no memory\n"
                        "  b was lost: it was killed"));
}

TEST_F(ASupervision, ForgetsARestartAfterThePeriod) {
  rules.add({"a"});
  lose("a", 0s);
  lose("a", 1s);
  lose("a", 2s);
  EXPECT_EQ(lose("a", 10s).kind, Kind::restart);
  EXPECT_EQ(lose("a", 10500ms).kind, Kind::give_up);
}

TEST_F(ASupervision, DoesNotRepeatAFailureThatWouldRepeatItself) {
  rules.add({"a"});
  const auto verdict = rules.ended("a", fault(Code::data_loss, "a.txt:7: 3 fields"), {});
  EXPECT_EQ(verdict.kind, Kind::give_up);
  EXPECT_EQ(code_of(verdict.failure), Code::data_loss);
  EXPECT_EQ(to_error(verdict.failure).what(), std::string("a.txt:7: 3 fields"));
}

TEST_F(ASupervision, LetsGoWhoHasNothingLeftToDo) {
  rules.add({"a"});
  EXPECT_EQ(rules.ended("a", {}, {}).kind, Kind::let_go);
  EXPECT_EQ(rules.ended("a", caf::exit_reason::user_shutdown, {}).kind, Kind::let_go);
  EXPECT_EQ(rules.ended("nobody", kKilled, {}).kind, Kind::let_go);
}

TEST_F(ASupervision, StartsAPermanentChildAgainWheneverItEnds) {
  rules.add({"a", Strategy::one_for_one, Lifetime::permanent});
  EXPECT_EQ(rules.ended("a", {}, {}).kind, Kind::restart);
}

TEST_F(ASupervision, StartsTheRestAgainToo) {
  rules.add({"a"});
  rules.add({"b", Strategy::rest_for_one});
  rules.add({"c"});
  rules.add({"d"});
  rules.remove("c");
  EXPECT_THAT(lose("b").children, ElementsAre("b", "d"));
  EXPECT_THAT(lose("d").children, ElementsAre("d"));
}

TEST_F(ASupervision, EscalatesWhereItIsToldTo) {
  rules.add({"a", Strategy::escalate});
  EXPECT_EQ(lose("a").kind, Kind::give_up);
}

TEST_F(ASupervision, GivesUpAtOnceWithoutRestarts) {
  rules = Supervision(exactly(0));
  rules.add({"a"});
  EXPECT_EQ(to_error(lose("a").failure).what(), std::string("a was lost: it was killed"));
}

TEST_F(ASupervision, TellsTheLastLinesOfWhomItLost) {
  rules.add({"a"});
  for (int i = 1; i <= 7; ++i) rules.note("a", text("line ", i));
  rules.note("nobody", "nothing");
  EXPECT_THAT(lose("a").words,
              HasSubstr("(last heard of it: line 3; line 4; line 5; line 6; line 7)"));
  EXPECT_THAT(lose("a").words, ::testing::Not(HasSubstr("last heard")));
}

TEST_F(ASupervision, RefusesTwoOfOneName) {
  rules.add({"a"});
  EXPECT_THAT(test::message_of([&] { rules.add({"a"}); }), HasSubstr("'a' already"));
}

TEST(RestartOptions, SayWhatMakesNoSense) {
  const auto words = [](auto change) {
    RestartOptions o;
    change(o);
    return test::message_of([&] { validate(o); });
  };
  EXPECT_THAT(words([](auto& o) { o.most = -1; }), HasSubstr("restarts.most"));
  EXPECT_THAT(words([](auto& o) { o.period = 0ms; }), HasSubstr("restarts.period"));
  EXPECT_THAT(words([](auto& o) { o.delay = 20s; }), HasSubstr("restarts.delay"));
  EXPECT_THAT(words([](auto& o) { o.jitter = 2; }), HasSubstr("restarts.jitter"));
}

}  // namespace
}  // namespace troupe
