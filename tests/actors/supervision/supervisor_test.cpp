#include "troupe/actors/supervision/supervisor.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

caf::behavior idle_child(caf::event_based_actor*) {
  return {[](start_atom) {}};
}

class ASupervisor : public test::ActorTest {
 protected:
  ~ASupervisor() override {
    if (leader) kill(caf::actor_cast<caf::actor>(leader));
    for (auto& [name, child] : children) kill(child);
  }
  ChildSpec child(const std::string& name, Strategy strategy = Strategy::one_for_one) {
    return {name,
            [this, name](std::uint32_t) {
              started.push_back(name);
              return children[name] = system.spawn(idle_child);
            },
            strategy};
  }
  void start(std::vector<ChildSpec> specs, int most = 3) {
    SupervisorOptions o;
    o.children = std::move(specs);
    o.restarts.most = most;
    o.restarts.delay = 100ms;
    o.restarts.jitter = 0;
    o.events = [this](const std::string& words) { events.push_back(words); };
    leader = spawn(supervisor, o);
    started.clear();
  }
  std::vector<std::string> running() {
    return *ask<std::vector<std::string>>(leader, status_atom_v)->value;
  }
  /// What ended the supervisor; empty while it runs.
  std::string end() {
    const auto reason = std::make_shared<caf::error>();
    const auto leader = this->leader;
    system.spawn([=](caf::event_based_actor* self) {
      self->set_down_handler([=](const caf::down_msg& down) {
        *reason = down.reason;
        self->quit();
      });
      self->monitor(leader);
      self->delayed_send(self, 1ms, stop_atom_v);
      return caf::behavior{[=](stop_atom) { self->quit(); }};
    });
    settle();
    advance(1ms);
    return *reason ? render(*reason) : std::string();
  }

  Supervisor leader;
  std::map<std::string, caf::actor> children;
  std::vector<std::string> started;  ///< again
  std::vector<std::string> events;
};

TEST_F(ASupervisor, StartsAgainAfterTheDelayWhoWasKilled) {
  start({child("a"), child("b")});
  kill(children["a"]);
  EXPECT_THAT(running(), ElementsAre("b"));
  advance(99ms);
  EXPECT_THAT(started, IsEmpty());
  advance(1ms);
  EXPECT_THAT(started, ElementsAre("a"));
  EXPECT_THAT(running(), ElementsAre("a", "b"));
  EXPECT_THAT(events, ElementsAre(HasSubstr("a was lost: it was killed"), "a is started again"));
}

TEST_F(ASupervisor, EndsTheRestFirstAndStartsThemInTheirOrder) {
  start({child("a"), child("b", Strategy::rest_for_one), child("c")});
  const auto before = children["c"];
  kill(children["b"]);
  EXPECT_THAT(running(), ElementsAre("a"));
  advance(100ms);
  EXPECT_THAT(started, ElementsAre("b", "c"));
  EXPECT_NE(children["c"], before);
}

TEST_F(ASupervisor, TakesARestartThatWaitsIntoALargerOne) {
  start({child("a", Strategy::rest_for_one), child("b")});
  kill(children["b"]);
  advance(50ms);
  kill(children["a"]);
  advance(50ms);
  EXPECT_THAT(started, IsEmpty());
  advance(50ms);
  EXPECT_THAT(started, ElementsAre("a", "b"));
}

TEST_F(ASupervisor, EndsWithTheWholeStoryWhenTheBudgetIsUsedUp) {
  start({child("a"), child("b")}, 1);
  kill(children["a"]);
  advance(100ms);
  EXPECT_EQ(end(), "");
  kill(children["b"]);
  EXPECT_THAT(end(), HasSubstr("all 1 restart within"));
  advance(10s);
  EXPECT_THAT(started, ElementsAre("a"));
}

TEST_F(ASupervisor, IsAChildThatAnotherStartsAgain) {
  SupervisorOptions inner;
  inner.children = {child("leaf", Strategy::escalate)};
  start({{"branch", [this, inner](std::uint32_t) {
            return caf::actor_cast<caf::actor>(system.spawn(supervisor, inner));
          }}});
  kill(children["leaf"]);
  EXPECT_THAT(events.at(0), HasSubstr("branch was lost: unavailable: leaf was lost"));
  advance(100ms);
  EXPECT_THAT(started, ElementsAre("leaf"));
  EXPECT_THAT(running(), ElementsAre("branch"));
}

TEST_F(ASupervisor, EndsItsChildrenWhenItIsEnded) {
  start({child("a")});
  caf::anon_send_exit(leader, caf::exit_reason::user_shutdown);
  settle();
  EXPECT_THAT(end(), HasSubstr("user_shutdown"));
  bool ended = false;
  auto* child = caf::actor_cast<caf::abstract_actor*>(children["a"]);
  child->attach_functor([&](const caf::error&) { ended = true; });
  EXPECT_TRUE(ended);
}

TEST_F(ASupervisor, TellsTheLastLinesOfWhomItLost) {
  start({child("a")});
  caf::anon_send(leader, report_atom_v, std::string("a"), std::string("step 17"));
  settle();
  kill(children["a"]);
  EXPECT_THAT(events.at(0), HasSubstr("(last heard of it: step 17)"));
}

}  // namespace
}  // namespace troupe
