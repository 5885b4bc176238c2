#include "troupe/actors/explain/steady_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/explain/synthetic_run.h"

namespace troupe {
namespace {

using test::SyntheticRun;

/// A run of 20 s: first batches after `warm_up`, the reader at its end after
/// `data`, the replicas stopped after `stopped`.
std::vector<Sample> samples(const SyntheticRun& run, int warm_up, int data, int stopped) {
  std::vector<Sample> all;
  for (int at = 0; at <= 20; ++at) {
    auto sample = run.sample(at);
    const auto stop_at = [&](std::size_t node, int end) {
      sample.nodes[node].status = run.sample(std::min(at, end)).nodes[node].status;
    };
    stop_at(run.reader, data);
    for (const auto replica : run.replicas) {
      stop_at(replica, stopped);
      if (at < warm_up) std::get<StageStatus>(sample.nodes[replica].status).records = 0;
    }
    all.push_back(sample);
  }
  return all;
}

SyntheticRun run_of_two_replicas() {
  SyntheticRun run(2, 2, 1);
  run.set({run.reader}, {.busy = 0.5, .out = 0.5, .records = 100});
  run.set(run.replicas, {.busy = 0.5, .in = 0.5, .records = 100});
  return run;
}

TEST(ASteadyWindow, LeavesOutTheFirstTwoSeconds) {
  const auto run = run_of_two_replicas();
  const auto window = steady_window(run.topology, samples(run, 0, 20, 20));
  EXPECT_EQ(window.begin, 2u);
  EXPECT_EQ(window.end, 20u);
  EXPECT_FALSE(window.short_run);
  EXPECT_FALSE(window.data_ended);
}

TEST(ASteadyWindow, BeginsWhenEveryReplicaHasHadABatch) {
  const auto run = run_of_two_replicas();
  EXPECT_EQ(steady_window(run.topology, samples(run, 7, 20, 20)).begin, 7u);
}

TEST(ASteadyWindow, EndsWithTheData) {
  const auto run = run_of_two_replicas();
  const auto window = steady_window(run.topology, samples(run, 0, 11, 20));
  EXPECT_EQ(window.end, 11u);
  EXPECT_TRUE(window.data_ended);
}

TEST(ASteadyWindow, GoesOnBehindDataThatWereReadAtOnce) {
  const auto run = run_of_two_replicas();
  const auto window = steady_window(run.topology, samples(run, 0, 2, 20));
  EXPECT_EQ(window.begin, 2u);
  EXPECT_EQ(window.end, 20u);
  EXPECT_FALSE(window.data_ended);
}

TEST(ASteadyWindow, EndsWhenTheReplicasAreStopped) {
  const auto run = run_of_two_replicas();
  const auto window = steady_window(run.topology, samples(run, 0, 20, 15));
  EXPECT_EQ(window.end, 15u);
  EXPECT_FALSE(window.data_ended);
}

TEST(ASteadyWindow, IsTheWholeRunWhenLittleIsLeft) {
  const auto run = run_of_two_replicas();
  auto all = samples(run, 0, 20, 20);
  all.resize(3);
  const auto window = steady_window(run.topology, all);
  EXPECT_EQ(window.begin, 0u);
  EXPECT_EQ(window.end, 2u);
  EXPECT_TRUE(window.short_run);
}

TEST(ASteadyWindow, IsTheWholeTimeWhenNoBatchEverCame) {
  const auto run = run_of_two_replicas();
  const auto window = steady_window(run.topology, samples(run, 99, 20, 20));
  EXPECT_EQ(window.begin, 0u);
  EXPECT_EQ(window.end, 20u);
}

TEST(ASteadyWindow, IsNothingWithoutTwoSamples) {
  const auto run = run_of_two_replicas();
  const auto window = steady_window(run.topology, {});
  EXPECT_EQ(window.begin, window.end);
  EXPECT_TRUE(window.short_run);
}

}  // namespace
}  // namespace troupe
