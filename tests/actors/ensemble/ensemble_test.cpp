#include "troupe/actors/ensemble/ensemble.h"

#include <gmock/gmock.h>

#include <limits>

#include "support/actor_test.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// What a fake member does with its queries.
struct Script {
  float says = 0;
  bool silent = false;  ///< keeps the queries
  caf::error failure;
  std::vector<caf::typed_response_promise<TensorList>> kept;
  std::vector<Version> assigned;
};

/// Answers with one number; (assign) makes it answer all that it has kept.
Member::behavior_type fake_member(Member::pointer self, std::shared_ptr<Script> script) {
  return {
      [=](run_atom, const TensorList&) -> caf::result<TensorList> {
        if (script->failure) return script->failure;
        if (!script->silent) return TensorList{Tensor::scalar(script->says)};
        script->kept.push_back(self->make_response_promise<TensorList>());
        return script->kept.back();
      },
      [=](assign_atom, const Parameters& weights) {
        script->assigned.push_back(weights.version);
        for (auto& promise : script->kept)
          promise.deliver(TensorList{Tensor::scalar(script->says)});
        script->kept.clear();
        return caf::ok_atom_v;
      },
  };
}

class AnEnsemble : public test::ActorTest {
 protected:
  struct FakeMember {
    std::shared_ptr<Script> script = std::make_shared<Script>();
    Member actor;
  };
  FakeMember member(float says) {
    FakeMember made;
    made.script->says = says;
    made.actor = spawn(fake_member, made.script);
    return made;
  }
  auto join(const std::string& name, const FakeMember& who, double weight = 1) {
    return ask<caf::ok_atom>(jury, join_atom_v, name, who.actor, weight);
  }
  void found(EnsembleOptions options, std::vector<FakeMember*> members) {
    options.name = "jury";
    jury = spawn(ensemble, options);
    for (std::size_t i = 0; i < members.size(); ++i) join(text("m", i), *members[i]);
  }
  auto query() { return ask<EnsembleAnswer>(jury, run_atom_v, TensorList{Tensor::scalar(1.0f)}); }
  void answer_everything(const FakeMember& who) {
    ask<caf::ok_atom>(who.actor, assign_atom_v, Parameters{});
  }
  static double number(const test::Answer<EnsembleAnswer>& answer) {
    return answer.value.value().outputs.at(0).item();
  }
  MemberStatus status_of(std::size_t index) {
    return ask<EnsembleStatus>(jury, status_atom_v)->value->members.at(index);
  }

  Ensemble jury;
  FakeMember one = member(1), two = member(2), six = member(6);
};

TEST_F(AnEnsemble, AnswersWithTheCombinationOfAllMembers) {
  found({}, {&one, &two, &six});
  const auto answer = query();
  ASSERT_TRUE(answer->value) << answer->words();
  EXPECT_EQ(number(*answer), 3);
  EXPECT_THAT(answer->value->answered, ElementsAre("m0", "m1", "m2"));
  EXPECT_THAT(answer->value->missing, ElementsAre());
}

TEST_F(AnEnsemble, WeighsItsMembers) {
  found({}, {&one});
  join("heavy", six, 4);
  EXPECT_EQ(number(*query()), 5);
}

TEST_F(AnEnsemble, CombinesInTheOrderOfJoiningWhoeverAnswersFirst) {
  one.script->silent = true;
  EnsembleOptions options;
  options.combiner = [](const std::vector<MemberAnswer>& answers) {
    return answers.front().outputs;
  };
  found(options, {&one, &two});
  const auto answer = query();
  EXPECT_TRUE(answer->pending());
  answer_everything(one);
  EXPECT_EQ(number(*answer), 1);
}

TEST_F(AnEnsemble, AnswersAtTheDeadlineWithThoseThatAreAQuorum) {
  six.script->silent = true;
  EnsembleOptions options;
  options.quorum = 2;
  options.deadline = 20ms;
  found(options, {&one, &two, &six});
  const auto answer = query();
  advance(19ms);
  EXPECT_TRUE(answer->pending());
  advance(1ms);
  ASSERT_TRUE(answer->value) << answer->words();
  EXPECT_EQ(number(*answer), 1.5);
  EXPECT_THAT(answer->value->missing, ElementsAre("m2 (late)"));
}

TEST_F(AnEnsemble, CountsWhoIsLateAndDropsWhatItSays) {
  six.script->silent = true;
  EnsembleOptions options;
  options.quorum = 2;
  options.deadline = 20ms;
  found(options, {&one, &two, &six});
  query();
  advance(20ms);
  EXPECT_EQ(status_of(2).outstanding, 1);
  answer_everything(six);
  EXPECT_EQ(status_of(2).outstanding, 0);
  EXPECT_EQ(status_of(2).late, 1u);
  EXPECT_EQ(status_of(2).answered, 0u);
}

TEST_F(AnEnsemble, FailsAtTheDeadlineWithoutAQuorumAndNamesWhoIsMissing) {
  two.script->silent = six.script->silent = true;
  EnsembleOptions options;
  options.quorum = 2;
  options.deadline = 20ms;
  found(options, {&one, &two, &six});
  const auto answer = query();
  advance(20ms);
  EXPECT_EQ(code_of(answer->fault), Code::deadline_exceeded);
  EXPECT_THAT(answer->words(), HasSubstr("'jury' has 1 of 2 answers at its deadline; missing: "
                                         "m1 (late), m2 (late)"));
}

TEST_F(AnEnsemble, NeedsEverybodyWithoutAQuorum) {
  six.script->silent = true;
  EnsembleOptions options;
  options.deadline = 20ms;
  found(options, {&one, &six});
  const auto answer = query();
  advance(20ms);
  EXPECT_EQ(code_of(answer->fault), Code::deadline_exceeded);
}

TEST_F(AnEnsemble, CanAnswerAsSoonAsThereIsAQuorum) {
  six.script->silent = true;
  EnsembleOptions options;
  options.quorum = 2;
  options.first_quorum = true;
  found(options, {&one, &two, &six});
  EXPECT_EQ(number(*query()), 1.5);
}

TEST_F(AnEnsemble, DoesWithoutAMemberThatFails) {
  two.script->failure = fault(Code::internal, "out of order");
  EnsembleOptions options;
  options.quorum = 2;
  found(options, {&one, &two, &six});
  const auto answer = query();
  ASSERT_TRUE(answer->value) << answer->words();
  EXPECT_EQ(number(*answer), 3.5);
  EXPECT_THAT(answer->value->missing, ElementsAre(HasSubstr("m1 (internal: out of order)")));
  EXPECT_THAT(status_of(1).last_failure, HasSubstr("out of order"));
}

TEST_F(AnEnsemble, FailsAtOnceWhenThereCanBeNoQuorumAnyMore) {
  two.script->failure = fault(Code::internal, "out of order");
  one.script->silent = true;
  EnsembleOptions options;
  options.quorum = 2;
  options.deadline = 1h;
  found(options, {&one, &two});
  const auto answer = query();
  EXPECT_EQ(code_of(answer->fault), Code::internal);
  EXPECT_THAT(answer->words(), HasSubstr("no quorum of 2"));
  EXPECT_THAT(answer->words(), HasSubstr("out of order"));
}

TEST_F(AnEnsemble, TakesNotANumberForAFailure) {
  two.script->says = std::numeric_limits<float>::quiet_NaN();
  EnsembleOptions options;
  options.quorum = 1;
  found(options, {&one, &two});
  const auto answer = query();
  EXPECT_EQ(number(*answer), 1);
  EXPECT_THAT(answer->value->missing, ElementsAre(HasSubstr("m1 (invalid argument: member 'm1' "
                                                            "answered NaN)")));
}

TEST_F(AnEnsemble, GoesOnWithoutAMemberThatDiesInTheMiddleOfAQuery) {
  six.script->silent = true;
  EnsembleOptions options;
  options.quorum = 1;
  found(options, {&one, &six});
  const auto answer = query();
  EXPECT_TRUE(answer->pending());
  kill(caf::actor_cast<caf::actor>(six.actor));
  ASSERT_TRUE(answer->value) << answer->words();
  EXPECT_EQ(number(*answer), 1);
  EXPECT_EQ(number(*query()), 1);
  EXPECT_EQ(ask<EnsembleStatus>(jury, status_atom_v)->value->members.size(), 1u);
}

TEST_F(AnEnsemble, RefusesQueriesWithFewerMembersThanItsQuorum) {
  EnsembleOptions options;
  options.quorum = 2;
  found(options, {&one});
  EXPECT_EQ(code_of(query()->fault), Code::unavailable);
  EXPECT_THAT(query()->words(), HasSubstr("has 1 members, fewer than its quorum of 2"));
}

TEST_F(AnEnsemble, RefusesQueriesWithoutMembers) {
  found({}, {});
  EXPECT_THAT(query()->words(), HasSubstr("has no members"));
}

TEST_F(AnEnsemble, DoesNotAskAMemberThatHasTooManyQueriesLeft) {
  six.script->silent = true;
  EnsembleOptions options;
  options.quorum = 1;
  options.first_quorum = true;
  options.max_outstanding = 2;
  found(options, {&one, &six});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(number(*query()), 1);
  EXPECT_EQ(status_of(1).outstanding, 2);
  EXPECT_EQ(status_of(1).skipped, 3u);
  EXPECT_EQ(six.script->kept.size(), 2u);
}

TEST_F(AnEnsemble, SaysWhenTooManyHaveTooMuchToDo) {
  one.script->silent = true;
  EnsembleOptions options;
  options.max_outstanding = 1;
  found(options, {&one});
  query();
  const auto refused = query();
  EXPECT_EQ(code_of(refused->fault), Code::resource_exhausted);
  EXPECT_THAT(refused->words(), HasSubstr("m0 (has 1 queries left to answer)"));
}

TEST_F(AnEnsemble, TakesInMembersWhileItWorks) {
  one.script->silent = true;
  found({}, {&one});
  const auto before = query();
  join("m1", two);
  answer_everything(one);
  EXPECT_EQ(number(*before), 1);
  one.script->silent = false;
  EXPECT_EQ(number(*query()), 1.5);
}

TEST_F(AnEnsemble, LetsAMemberFinishBeforeItLeaves) {
  six.script->silent = true;
  found({}, {&one, &six});
  const auto answer = query();
  const auto left = ask<caf::ok_atom>(jury, leave_atom_v, std::string("m1"));
  EXPECT_TRUE(left->pending());
  EXPECT_EQ(number(*query()), 1);  // it is not asked any more
  answer_everything(six);
  EXPECT_EQ(number(*answer), 3.5);
  EXPECT_TRUE(left->value);
}

TEST_F(AnEnsemble, KnowsItsMembersByTheirNames) {
  found({}, {&one});
  EXPECT_EQ(code_of(join("m0", two)->fault), Code::already_exists);
  EXPECT_EQ(code_of(join("m1", two, -1)->fault), Code::invalid_argument);
  EXPECT_EQ(code_of(ask<caf::ok_atom>(jury, leave_atom_v, std::string("m9"))->fault),
            Code::not_found);
  ask<caf::ok_atom>(jury, leave_atom_v, std::string("m0"));
  EXPECT_TRUE(join("m0", two)->value);
}

TEST_F(AnEnsemble, PassesWeightsOnToTheMemberTheyAreFor) {
  found({}, {&one, &two});
  Parameters weights;
  weights.version = 7;
  EXPECT_TRUE(ask<caf::ok_atom>(jury, assign_atom_v, std::string("m1"), weights)->value);
  EXPECT_THAT(two.script->assigned, ElementsAre(7u));
  EXPECT_THAT(one.script->assigned, ElementsAre());
}

TEST_F(AnEnsemble, SaysWhichMembersDoNotFitTogether) {
  found({}, {&one});
  const auto odd = spawn([](Member::pointer) -> Member::behavior_type {
    return {
        [](run_atom, const TensorList&) {
          return TensorList{Tensor::of<double>({2}, {1, 2})};
        },
        [](assign_atom, const Parameters&) { return caf::ok_atom_v; },
    };
  });
  ask<caf::ok_atom>(jury, join_atom_v, std::string("odd"), odd, 1.0);
  EXPECT_THAT(query()->words(), HasSubstr("'m0' answers float32 [], but 'odd' answers float64 "
                                          "[2]"));
}

TEST_F(AnEnsemble, AnswersWithWhatItsCombinerThrows) {
  EnsembleOptions options;
  options.combiner = [](const std::vector<MemberAnswer>&) -> TensorList {
    fail(Code::unimplemented, "not on Mondays");
  };
  found(options, {&one});
  EXPECT_THAT(query()->words(), HasSubstr("not on Mondays"));
  EXPECT_THAT(query()->words(), HasSubstr("not on Mondays"));
}

TEST(EnsembleOptions, AreChecked) {
  EnsembleOptions options;
  options.quorum = -1;
  EXPECT_THROW(validate(options), Error);
}

}  // namespace
}  // namespace troupe
