#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/aggregation/run_recording.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Kind = RecordedEvent::Kind;

class Replay : public test::ATrainingRun {
 protected:
  Replay() {
    RunRecorder recorder(file(), "a run");
    recorder.append({Kind::joined, 0, 0});
    recorder.append({Kind::set, 0, 1});
  }
  std::string file() const { return path("recording"); }
  static std::string refusal(const std::string& path, const std::string& run = "a run") {
    return test::message_of([&] { read_recording(path, run); });
  }
  TrainingOptions four_replicas(const std::string& policy) const {
    auto o = options();
    o.deterministic = false;
    o.replicas = 4;
    o.shards = 2;
    o.aggregation.policy = policy;
    o.threads = {4, 1};
    return o;
  }
};

TEST_F(Replay, ReadsWhatWasRecorded) {
  EXPECT_THAT(read_recording(file(), "a run"),
              ElementsAre(RecordedEvent{Kind::joined, 0, 0}, RecordedEvent{Kind::set, 0, 1}));
}

TEST_F(Replay, RefusesRecordingsOfOtherRuns) {
  EXPECT_THAT(refusal(file(), "another"),
              HasSubstr("is the recording of another run: a run; this one is: another"));
  EXPECT_THAT(refusal(path("nowhere")), HasSubstr("there is no recording"));
  EXPECT_THAT(refusal(path("x.txt")), HasSubstr("is not a recording"));
}

TEST_F(Replay, RefusesRecordingsThatAreCutShortOrDamaged) {
  const auto whole = std::filesystem::file_size(file());
  std::ifstream in(file(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto begin = bytes.find('\n') + 1;
  for (auto size = begin; size < whole; ++size) {
    std::ofstream(path("damaged"), std::ios::binary) << bytes.substr(0, size);
    EXPECT_THAT(refusal(path("damaged")), HasSubstr("is cut short")) << size;
  }
  for (auto at = begin; at < whole; ++at) {
    auto damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    std::ofstream(path("damaged"), std::ios::binary) << damaged;
    EXPECT_NE(refusal(path("damaged")), "no error") << at;
  }
}

TEST_F(Replay, RefusesARunInWhichAReplicaDied) {
  {
    RunRecorder recorder(file(), "a run");
    recorder.append({Kind::lost, 2, 0});
  }
  EXPECT_THAT(refusal(file()), HasSubstr("replica 2 died in that run"));
}

TEST_F(Replay, LetsThingsHappenInTheOrderOfTheRecording) {
  {
    RunRecorder recorder(file(), "a run");
    for (const std::uint64_t step : {1, 2, 3}) recorder.append({Kind::set, 0, step});
  }
  EventOrder order;
  order.replay(file(), "a run");
  std::vector<int> done;
  const auto happens = [&](int step) {
    order.happen({Kind::set, 0, static_cast<std::uint64_t>(step)},
                 [&done, step] { done.push_back(step); });
  };
  happens(3);
  happens(2);
  EXPECT_THAT(done, ElementsAre());
  happens(1);
  EXPECT_THAT(done, ElementsAre(1, 2, 3));
  EXPECT_THAT(test::message_of([&] { happens(4); }), HasSubstr("departs from the recording"));
}

TEST_F(Replay, GivesTheBitsOfAnAsynchronousRun) {
  for (const std::string policy : {"async", "ssp:1", "async:staleness=weight"}) {
    auto o = four_replicas(policy);
    o.aggregation.record = path("recorded " + policy);
    o.aggregation.clip_norm = policy == "ssp:1" ? 0.1 : 0;
    const auto recorded = train(o, 6);
    const auto steps = outcome.steps;
    o.aggregation.replay = std::exchange(o.aggregation.record, "");
    for (int i = 0; i < 2; ++i) {
      const auto replayed = train(o, 6);
      EXPECT_EQ(outcome.steps, steps);
      for (const auto& [name, value] : recorded)
        EXPECT_TRUE(same_bits(value, replayed.at(name))) << policy << ", " << name;
    }
  }
}

TEST_F(Replay, IsOfARecordingThatNobodyOverwrites) {
  auto o = four_replicas("async");
  o.aggregation.record = path("recorded");
  train(o);
  EXPECT_THAT(test::message_of([&] { Training(test::small_model, batches(3), o).run(); }),
              HasSubstr("has the recording of another run (decisions): choose another directory"));
  o.aggregation.replay = std::exchange(o.aggregation.record, "");
  train(o);
}

TEST_F(Replay, RefusesARunWithOtherOptions) {
  auto o = four_replicas("async");
  o.aggregation.record = path("recorded");
  train(o);
  o.aggregation.replay = std::exchange(o.aggregation.record, "");
  o.seed = 9;
  o.checkpoints.directory = path("other");
  EXPECT_THAT(test::message_of([&] { Training(test::small_model, batches(3), o).run(); }),
              HasSubstr("is the recording of another run"));
  o.seed = 1;
  const auto wider = [](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
    const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
    m.inputs = {x, y};
    m.loss = nn::mean_squared_error(nn::dense(nn::dense(x, 9), 1), y);
    return m;
  };
  EXPECT_THAT(test::message_of([&] { Training(wider, batches(3), o).run(); }),
              HasSubstr("is the recording of another run"));
}

}  // namespace
}  // namespace troupe
