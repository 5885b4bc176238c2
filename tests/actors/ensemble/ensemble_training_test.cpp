#include "troupe/actors/ensemble/ensemble_training.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/session.h"
#include "troupe/ops/matmul.h"

namespace troupe {
namespace {

using test::small_model;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};

/// The small model of other tests, with predictions and a hidden layer of this width.
ModelFunction predicting(std::int64_t width) {
  return [width](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
    const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
    const auto hidden = nn::dense(x, width, {.name = "hidden", .activation = tanh});
    m.inputs = {x, y};
    m.predictions = nn::dense(hidden, 1, {.name = "out"});
    m.loss = nn::mean_squared_error(m.predictions, y);
    return m;
  };
}

class AnEnsembleThatIsTrained : public test::ATrainingRun {
 protected:
  static TrainingOptions member_options(std::uint64_t steps = 0) {
    auto o = options();
    o.deterministic = false;
    o.max_steps = steps;
    return o;
  }
  EnsembleTrainingOptions ensemble_options() const {
    EnsembleTrainingOptions o;
    o.threads = {2, 2};
    o.directory = path("ensemble");
    return o;
  }
  std::map<std::string, Tensor> weights_in(const std::string& place) const {
    std::map<std::string, Tensor> weights;
    for (auto& record : Checkpoint::open(path(place)).read_all())
      if (record.kind == TensorKind::variable) weights.emplace(record.name, record.value);
    return weights;
  }
};

TEST_F(AnEnsembleThatIsTrained, DecodesEveryRecordOnceForAllMembers) {
  const auto decoded = std::make_shared<std::atomic<int>>(0);
  const auto data = read_text({path("x.txt")})
                        .zip(read_text({path("y.txt")}))
                        .decode({numbers({4}), numbers({1})}, {.decoders = 2})
                        .map([decoded](Element element) {
                          ++*decoded;
                          return element;
                        })
                        .buffer(100)
                        .batch(24, Remainder::drop);
  EnsembleTraining training({{"small", predicting(4), member_options()},
                             {"large", predicting(16), member_options()},
                             {"two replicas", predicting(8),
                              [] {
                                auto o = member_options();
                                o.replicas = o.shards = 2;
                                return o;
                              }()}},
                            data, ensemble_options());
  const auto outcome = training.run();
  EXPECT_EQ(decoded->load(), 240);
  for (const auto& member : outcome.members) {
    EXPECT_EQ(member.training.ending, Ending::end_of_data) << member.training.message;
    EXPECT_EQ(member.training.examples, 240) << member.name;
  }
  EXPECT_TRUE(training.stop(kPatience).empty());
}

TEST_F(AnEnsembleThatIsTrained, GivesEachMemberTheBitsThatItHasAlone) {
  auto o = ensemble_options();
  o.deterministic = true;
  auto fast = member_options(20), slow = member_options();
  slow.replicas = slow.shards = 2;
  EnsembleTraining training({{"fast", small_model, fast}, {"slow", small_model, slow}}, batches(3),
                            o);
  ASSERT_FALSE(training.run().failed());
  for (auto [name, alone] : {std::pair("fast", fast), std::pair("slow", slow)}) {
    alone.deterministic = true;
    const auto wanted = train(alone);
    const auto together = weights_in(std::string("ensemble/") + name);
    ASSERT_EQ(together.size(), wanted.size());
    for (const auto& [variable, value] : wanted)
      EXPECT_TRUE(same_bits(value, together.at(variable))) << name << ' ' << variable;
  }
}

TEST_F(AnEnsembleThatIsTrained, GoesOnWithoutAMemberThatFails) {
  auto wild = member_options();
  wild.learning_rate = 1e30;
  EnsembleTraining training({{"wild", small_model, wild}, {"good", small_model, member_options()}},
                            batches(3), ensemble_options());
  const auto outcome = training.run();
  EXPECT_TRUE(outcome.failed());
  EXPECT_EQ(outcome.members[0].training.ending, Ending::failed);
  EXPECT_EQ(outcome.members[1].training.ending, Ending::end_of_data);
  EXPECT_EQ(outcome.members[1].training.steps, 30u);
}

TEST_F(AnEnsembleThatIsTrained, GoesOnWithoutAMemberThatCannotBegin) {
  auto o = member_options(3);
  o.checkpoints.directory = path("ensemble/used");
  ASSERT_EQ(Training(small_model, batches(1), o).run().steps, 3u);
  EnsembleTraining training(
      {{"used", small_model, member_options()}, {"good", small_model, member_options()}},
      batches(3), ensemble_options());
  const auto outcome = training.run();
  EXPECT_THAT(outcome.members[0].training.message, HasSubstr("has checkpoints of an earlier run"));
  EXPECT_EQ(outcome.members[1].training.steps, 30u);
}

TEST_F(AnEnsembleThatIsTrained, StopsAllWhenOneFailsIfThatIsWanted) {
  auto wild = member_options();
  wild.learning_rate = 1e30;
  auto o = ensemble_options();
  o.fail_fast = true;
  EnsembleTraining training(
      {{"wild", small_model, wild}, {"endless", small_model, member_options()}}, batches(0), o);
  const auto outcome = training.run();
  EXPECT_EQ(outcome.members[0].training.ending, Ending::failed);
  EXPECT_EQ(outcome.members[1].training.ending, Ending::stopped);
}

TEST_F(AnEnsembleThatIsTrained, TellsAllMembersOfBadData) {
  std::ofstream(path("y.txt"), std::ios::app) << "no number\n";
  std::ofstream(path("x.txt"), std::ios::app) << "1 2 3 4\n";
  EnsembleTraining training(
      {{"a", small_model, member_options()}, {"b", small_model, member_options()}}, batches(1),
      ensemble_options());
  for (const auto& member : training.run().members)
    EXPECT_THAT(member.training.message, HasSubstr("y.txt:241")) << member.name;
}

TEST_F(AnEnsembleThatIsTrained, HasMembersThatJoinAndLeaveWhileItRuns) {
  auto o = ensemble_options();
  std::promise<void> a_moves, b_done;
  std::atomic<bool> moved{false};
  o.progress = [&](const std::string& member, const Progress& progress) {
    if (member == "a" && progress.step > 0 && !moved.exchange(true)) a_moves.set_value();
    if (member == "b" && progress.last) b_done.set_value();
  };
  auto endless = member_options();
  endless.progress_interval = std::chrono::milliseconds(20);
  EnsembleTraining training({{"a", small_model, endless}}, batches(0), o);
  auto running = std::async(std::launch::async, [&] { return training.run(); });
  ASSERT_EQ(a_moves.get_future().wait_for(kPatience), std::future_status::ready);
  training.join({"b", small_model, member_options(5)});
  ASSERT_EQ(b_done.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_THROW(training.leave("nobody"), Error);
  while (training.members()[1].second) std::this_thread::yield();
  EXPECT_THAT(test::message_of([&] {
                training.join({"b", small_model, member_options()});
              }),
              HasSubstr("a member called 'b' already, which has ended: a run does not use a name "
                        "again"));
  training.leave("a");
  const auto outcome = running.get();
  ASSERT_EQ(outcome.members.size(), 2u);
  EXPECT_EQ(outcome.members[0].training.ending, Ending::stopped);
  EXPECT_EQ(outcome.members[1].training.ending, Ending::steps_done);
  EXPECT_EQ(outcome.members[1].training.steps, 5u);
  EXPECT_THAT(test::message_of([&] {
                training.join({"c", small_model, member_options()});
              }),
              HasSubstr("the run has ended"));
}

TEST_F(AnEnsembleThatIsTrained, StopsWhenAsked) {
  auto o = ensemble_options();
  EnsembleTraining* asked = nullptr;
  o.progress = [&](const std::string&, const Progress&) { asked->request_stop(); };
  auto endless = member_options();
  endless.progress_interval = std::chrono::milliseconds(20);
  EnsembleTraining training({{"a", small_model, endless}, {"b", small_model, endless}}, batches(0),
                            o);
  asked = &training;
  for (const auto& member : training.run().members)
    EXPECT_EQ(member.training.ending, Ending::stopped) << member.training.message;
  EXPECT_TRUE(training.stop(kPatience).empty());
}

TEST_F(AnEnsembleThatIsTrained, IsScoredMemberByMemberAndTogether) {
  auto o = ensemble_options();
  o.evaluation = batches(1, 240);
  EnsembleTraining training({{"small", predicting(4), member_options(), 3},
                             {"large", predicting(16), member_options(), 1}},
                            batches(3), o);
  const auto outcome = training.run();
  ASSERT_TRUE(outcome.together) << outcome.not_scored;
  EXPECT_EQ(outcome.score_name, "rmse");
  BatchIterator iterator(*o.evaluation);
  const auto batch = iterator.next();
  std::vector<double> mean(240), errors;
  const auto& right = batch->components[1];
  for (const auto& [name, width, weight] :
       {std::tuple("small", 4, 0.75), std::tuple("large", 16, 0.25)}) {
    const auto model = predicting(width)(false);
    Session session(model.graph);
    session.restore(weights_in(std::string("ensemble/") + name));
    const auto said = session.run(model.predictions, {{model.inputs[0], batch->components[0]}});
    double sum = 0;
    for (std::int64_t i = 0; i < 240; ++i) {
      mean[i] += weight * said.at(i);
      sum += std::pow(said.at(i) - right.at(i), 2);
    }
    errors.push_back(std::sqrt(sum / 240));
  }
  double sum = 0;
  for (std::int64_t i = 0; i < 240; ++i) sum += std::pow(mean[i] - right.at(i), 2);
  EXPECT_NEAR(*outcome.members[0].score, errors[0], 1e-5);
  EXPECT_NEAR(*outcome.members[1].score, errors[1], 1e-5);
  EXPECT_NEAR(*outcome.together, std::sqrt(sum / 240), 1e-5);
  EXPECT_NEAR(outcome.members[0].training.evaluation.at(0), errors[0] * errors[0], 1e-5);
}

TEST_F(AnEnsembleThatIsTrained, RefusesMembersThatDoNotFit) {
  const auto message = [&](std::vector<TrainedMember> members, bool scored = true) {
    auto o = ensemble_options();
    if (scored) o.evaluation = batches(1, 240);
    return test::message_of([&] { EnsembleTraining(std::move(members), batches(1), o); });
  };
  const auto two_outputs = [](bool training) {
    auto m = predicting(4)(training);
    m.predictions = nn::dense(m.predictions, 2, {.name = "two"});
    return m;
  };
  EXPECT_THAT(
      message({{"a", predicting(4), member_options()}, {"b", two_outputs, member_options()}}),
      HasSubstr("members do not fit each other: 'a' takes float32 [?, 4] (component 0)"));
  EXPECT_THAT(message({{"a", small_model, member_options()}}),
              HasSubstr("member 'a': the model names no predictions"));
  EXPECT_THAT(message({{"../a", small_model, member_options()}}, false), HasSubstr("'../a'"));
  EXPECT_THAT(
      message({{"a", small_model, member_options()}, {"a", small_model, member_options()}}, false),
      HasSubstr("a member called 'a' already"));
  EXPECT_THAT(message({}), HasSubstr("at least one member"));
  auto none = member_options();
  none.replicas = 0;
  EXPECT_THAT(message({{"a", small_model, none}}, false),
              HasSubstr("member 'a': a training run needs at least 1"));
}

}  // namespace
}  // namespace troupe
