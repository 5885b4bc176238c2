#include "troupe/actors/explain/bottleneck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/explain/synthetic_run.h"

namespace troupe {
namespace {

using test::SyntheticRun;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The knob that is advised first.
std::string first_knob(const Finding& finding) {
  if (finding.advice.empty()) return "none";
  const auto& a = finding.advice[0];
  auto words = knob_name(a.knob, KnobStyle::flags);
  if (!a.value.empty()) words += " " + a.value;
  return words;
}

SyntheticRun one_decoder_too_few() {
  SyntheticRun run(1, 1, 1);
  run.set({run.reader}, {.busy = 0.1, .out = 0.9, .records = 1000});
  run.set(run.decoders, {.busy = 0.97, .in = 0.01, .out = 0.01, .records = 1000});
  run.set({run.queue}, {.in = 0.81, .records = 1000});
  run.set({run.feeder}, {.in = 0.8, .out = 0.2, .records = 1000});
  run.set(run.replicas, {.busy = 0.2, .in = 0.78, .out = 0.02, .records = 1000});
  run.set({run.device}, {.busy = 0.25, .records = 10});
  run.cpu = 1.2;
  return run;
}

TEST(Bottleneck, IsTheOneDecoderWhileCpusAreIdle) {
  const auto finding = one_decoder_too_few().explain().finding;
  EXPECT_EQ(finding.limit, Limit::decoders);
  EXPECT_FALSE(finding.cpus_busy);
  EXPECT_NEAR(finding.busy, 0.97, 0.01);
  EXPECT_EQ(first_knob(finding), "--decoders 4");
  EXPECT_THAT(finding.evidence, HasSubstr("decoder 0 was busy 97 % of the time"));
  EXPECT_THAT(finding.evidence, HasSubstr("queue 'shuffle queue' had too little 81 %"));
  EXPECT_THAT(finding.evidence, HasSubstr("replica 0 waited for data 78 %"));
  EXPECT_THAT(finding.advice[0].why, HasSubstr("0.8 of 2 are idle"));
}

TEST(Bottleneck, IsDecodingOnCpusThatAreAllBusyAndThenNoKnobHelps) {
  SyntheticRun run(4, 1, 1);
  run.set({run.reader}, {.busy = 0.1, .out = 0.9, .records = 2000});
  // Four decoders take turns on two threads: half of their time they wait for a
  // thread, which looks like waiting for the reader.
  run.set(run.decoders, {.busy = 0.46, .in = 0.4, .out = 0.14, .records = 500});
  run.set({run.queue}, {.in = 0.8, .records = 2000});
  run.set(run.replicas, {.busy = 0.1, .in = 0.9, .records = 2000});
  run.cpu = 1.97;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::decoders);
  EXPECT_TRUE(finding.cpus_busy);
  EXPECT_EQ(first_knob(finding), "");
  EXPECT_THAT(finding.advice[0].why, HasSubstr("all 2 CPUs are busy: more CPUs"));
}

TEST(Bottleneck, IsDecodingOnTooFewThreads) {
  auto run = one_decoder_too_few();
  run.settings.cpus = 8;
  run.settings.inter_op = 1;
  EXPECT_EQ(first_knob(run.explain().finding), "--inter-op 8");
}

/// Workers that are on a CPU half the time and stand ready for one the other half.
SyntheticRun with_threads_that_wait_for_a_cpu() {
  auto run = one_decoder_too_few();
  run.cpu = 1.0;
  run.threads = {
      {7, "caf.multiplexer", std::chrono::nanoseconds(50), std::chrono::nanoseconds(50)},
      {8, "caf.multiplexer", std::chrono::nanoseconds(50), std::chrono::nanoseconds(50)}};
  return run;
}

TEST(Bottleneck, DoesNotBlameOthersWhenThreadsOfOneProgramWaitForEachOther) {
  const auto finding = with_threads_that_wait_for_a_cpu().explain().finding;
  EXPECT_FALSE(finding.cpus_taken);
}

TEST(Bottleneck, TellsOtherProgramsThatHaveTheCpus) {
  auto run = with_threads_that_wait_for_a_cpu();
  run.others = 0.9;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::decoders);
  EXPECT_TRUE(finding.cpus_taken);
  EXPECT_THAT(finding.advice.at(0).why, HasSubstr("other programs have the CPUs"));
}

SyntheticRun slow_reader(double on_cpu) {
  SyntheticRun run(2, 1, 1);
  run.set({run.reader}, {.busy = 0.96, .in = 0, .out = 0, .records = 100, .bytes = 3.5e6});
  run.set(run.decoders, {.busy = 0.05, .in = 0.95, .records = 50});
  run.set({run.queue}, {.in = 0.97, .records = 100});
  run.set({run.feeder}, {.in = 0.97, .out = 0.03});
  run.set(run.replicas, {.busy = 0.03, .in = 0.97, .records = 100});
  run.cpu = 0.2 + on_cpu;
  run.threads = {{9, "reader", std::chrono::nanoseconds(static_cast<int>(100 * on_cpu)), {}}};
  return run;
}

TEST(Bottleneck, IsAReaderThatWaitsForItsFile) {
  const auto finding = slow_reader(0.06).explain().finding;
  EXPECT_EQ(finding.limit, Limit::reader);
  EXPECT_THAT(finding.evidence, HasSubstr("reader was busy 96 %"));
  EXPECT_THAT(finding.evidence, HasSubstr("3.5 MB and 100 records a second"));
  EXPECT_THAT(finding.evidence, HasSubstr("both decoders waited for input 95 %"));
  EXPECT_THAT(finding.advice.at(0).why, HasSubstr("it waited for the file 90 %"));
}

TEST(Bottleneck, IsAReaderWhoseThreadIsBusyCuttingRecords) {
  const auto finding = slow_reader(0.95).explain().finding;
  EXPECT_EQ(finding.limit, Limit::reader);
  EXPECT_THAT(finding.advice.at(0).why, HasSubstr("one thread is busy cutting records"));
}

TEST(Bottleneck, IsAReaderThatDoesNotEvenAnswer) {
  auto run = slow_reader(0);
  Observations observed;
  observed.topology = run.topology;
  for (int at = 0; at <= 10; ++at) {
    auto sample = run.sample(at);
    sample.nodes[run.reader] = run.sample(std::min(at, 2)).nodes[run.reader];
    if (at > 2) sample.nodes[run.reader].silent = std::chrono::seconds(at - 2);
    observed.samples.push_back(sample);
  }
  const auto finding = explain(observed, run.settings).finding;
  EXPECT_EQ(finding.limit, Limit::reader);
  EXPECT_THAT(finding.evidence, HasSubstr("has been in one read for 8.0 s"));
}

TEST(Bottleneck, IsAQueueInWhichBothSidesWaitByTurns) {
  SyntheticRun run(2, 1, 1);
  run.hold(1000, 1010, 1000);
  run.set({run.reader}, {.busy = 0.1, .out = 0.9, .records = 1000});
  run.set(run.decoders, {.busy = 0.4, .in = 0, .out = 0.6, .records = 500});
  run.set({run.queue}, {.in = 0.45, .out = 0.55, .records = 1000});
  run.set({run.feeder}, {.in = 0.45, .out = 0.55, .records = 1000});
  run.set(run.replicas, {.busy = 0.5, .in = 0.4, .out = 0.1, .records = 1000});
  run.cpu = 1.2;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::queue);
  EXPECT_EQ(finding.actor, "queue 'shuffle queue'");
  EXPECT_EQ(first_knob(finding), "--capacity 1400");
  EXPECT_THAT(finding.evidence, HasSubstr("holds 1010, of which 1000 stay"));
}

TEST(Bottleneck, IsAQueueWhoseBytesAreTooFew) {
  SyntheticRun run(2, 1, 1);
  run.hold(40, 1000);
  run.queues[run.queue].bytes = 60 << 20;
  run.queues[run.queue].capacity_bytes = 64 << 20;
  run.set(run.decoders, {.busy = 0.4, .out = 0.6, .records = 500});
  run.set({run.queue}, {.in = 0.45, .out = 0.55, .records = 1000});
  run.set(run.replicas, {.busy = 0.5, .in = 0.4, .out = 0.1, .records = 1000});
  run.cpu = 1.2;
  const auto explanation = run.explain();
  EXPECT_EQ(explanation.finding.limit, Limit::queue);
  EXPECT_THAT(summary(explanation, KnobStyle::options),
              HasSubstr("ShuffleOptions::capacity_bytes = 268435456: room for more elements"));
  EXPECT_THAT(summary(explanation, KnobStyle::flags), HasSubstr("faster: room for more elements"));
}

TEST(Bottleneck, IsAProgramThatFeedsTooLittle) {
  SyntheticRun run(1, 1, 1);
  run.topology.links.erase(run.topology.links.begin());  // no reader is before it
  run.set(run.decoders, {.busy = 0.02, .in = 0.98, .records = 10});
  run.set({run.queue}, {.in = 0.98, .records = 10});
  run.set(run.replicas, {.busy = 0.02, .in = 0.98, .records = 10});
  run.cpu = 0.1;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::feed);
  EXPECT_THAT(finding.evidence, HasSubstr("waited for what the program gives it 98 %"));
}

TEST(Bottleneck, IsNoQueueWhereBothSidesWaitForTheSameCpus) {
  SyntheticRun run(4, 1, 1);
  run.hold(1000, 1100, 0);
  run.set({run.reader}, {.busy = 0.1, .out = 0.9, .records = 1000});
  run.set(run.decoders, {.busy = 0.3, .in = 0.3, .out = 0.4, .records = 250});
  run.set({run.queue}, {.in = 0.4, .out = 0.4, .records = 1000});
  run.set(run.replicas, {.busy = 0.5, .in = 0.4, .out = 0.1, .records = 1000});
  run.set({run.device}, {.busy = 0.8, .records = 10});
  run.cpu = 1.98;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::decoders);
  EXPECT_THAT(finding.advice.at(0).why, HasSubstr("all 2 CPUs are busy"));
  EXPECT_THAT(finding.remarks, Contains(HasSubstr("57 % into decoding")));
}

TEST(Bottleneck, IsAFloorThatTheQueueHasNotReachedYet) {
  SyntheticRun run(2, 1, 1);
  run.hold(0, 20000, 15000);
  run.growth = 100;
  run.set({run.reader}, {.busy = 0.9, .records = 100});
  run.set(run.decoders, {.busy = 0.1, .in = 0.9, .records = 50});
  run.set({run.queue}, {.in = 1});
  run.set(run.replicas, {.in = 1});
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::filling);
  EXPECT_EQ(first_knob(finding), "--min-after-dequeue 1500");
  EXPECT_THAT(finding.evidence, HasSubstr("has 2000 of the 15000 elements"));
  EXPECT_THAT(finding.evidence, HasSubstr("gets 100 a second: 130 s to go"));
}

TEST(Bottleneck, IsStackingWhenReplicasWaitBesideAFullQueue) {
  SyntheticRun run(2, 1, 1);
  run.hold(950, 1000);
  run.set(run.decoders, {.busy = 0.2, .out = 0.8, .records = 500});
  run.set({run.queue}, {.in = 0.05, .out = 0.8, .records = 1000});
  run.set({run.feeder}, {.in = 0.7, .out = 0.3});
  run.set(run.replicas, {.busy = 0.3, .in = 0.65, .records = 1000});
  run.cpu = 1.2;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::batching);
  EXPECT_THAT(finding.evidence, HasSubstr("has 950 elements"));
}

SyntheticRun fast_data(int replicas, int shards) {
  SyntheticRun run(2, replicas, shards);
  run.hold(1000, 1000);
  run.set({run.reader}, {.busy = 0.05, .out = 0.95, .records = 1000});
  run.set(run.decoders, {.busy = 0.1, .out = 0.9, .records = 500});
  run.set({run.queue}, {.out = 0.95, .records = 1000});
  run.set({run.feeder}, {.out = 1, .records = 1000});
  return run;
}

TEST(Bottleneck, IsComputingOnAllCpus) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.95, .in = 0.01, .out = 0.04, .records = 1000});
  run.set({run.device}, {.busy = 1.8, .records = 10});
  run.cpu = 1.95;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::replicas);
  EXPECT_TRUE(finding.cpus_busy);
  EXPECT_THAT(finding.advice.at(0).why, HasSubstr("all 2 CPUs are busy"));
  EXPECT_THAT(finding.remarks,
              ElementsAre("of their time, 88 % went into arithmetic, 10 % into decoding, 2 % into "
                          "reading, 0 % into updates"));
}

TEST(Bottleneck, IsComputingWithTooFewThreadsInsideAnOp) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.95, .in = 0.01, .out = 0.04, .records = 1000});
  run.set({run.device}, {.busy = 0.9, .records = 10});
  run.cpu = 1.1;
  run.settings.intra_op = 1;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::replicas);
  EXPECT_FALSE(finding.cpus_busy);
  EXPECT_EQ(first_knob(finding), "--intra-op 2");
}

TEST(Bottleneck, IsOneReplicaThatCannotUseAllCpus) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.9, .in = 0.02, .out = 0.08, .records = 1000});
  run.set({run.device}, {.busy = 1.0, .records = 10});
  run.cpu = 1.2;
  EXPECT_EQ(first_knob(run.explain().finding), "--replicas 2");
}

TEST(Bottleneck, IsAShardThatUpdatesAllTheTime) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.3, .in = 0.01, .out = 0.69, .records = 1000});
  run.set(run.shards, {.busy = 0.65, .records = 10});
  run.cpu = 1.1;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::shards);
  EXPECT_EQ(finding.actor, "shard 0");
  EXPECT_EQ(first_knob(finding), "--shards 2");
  EXPECT_THAT(finding.evidence, HasSubstr("replica 0 waited for parameters 69 %"));
}

TEST(Bottleneck, NamesTheShardThatHasMoreToDoThanTheOthers) {
  auto run = fast_data(1, 3);
  run.set(run.replicas, {.busy = 0.3, .out = 0.7, .records = 1000});
  run.set({run.shards[2]}, {.busy = 0.65, .records = 10});
  run.set({run.shards[0], run.shards[1]}, {.busy = 0.05, .records = 10});
  run.cpu = 1.1;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::shards);
  EXPECT_THAT(finding.remarks.at(0), HasSubstr("shard 2 has much more to do"));
}

TEST(Bottleneck, IsTheSlowestOfTheSynchronousReplicas) {
  auto run = fast_data(2, 1);
  run.set({run.replicas[0]}, {.busy = 0.3, .out = 0.7, .records = 500});
  run.set({run.replicas[1]}, {.busy = 0.9, .out = 0.1, .records = 500});
  run.set(run.shards, {.busy = 0.02, .records = 10});
  run.cpu = 1.2;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::waiting);
  EXPECT_EQ(finding.actor, "replica 1");
  EXPECT_EQ(first_knob(finding), "--async");

  run.settings.all_reduce = true;  // which is refused with async
  const auto reduced = run.explain().finding;
  EXPECT_EQ(reduced.limit, Limit::waiting);
  EXPECT_EQ(first_knob(reduced), "");
  EXPECT_THAT(reduced.advice[0].why, HasSubstr("all replicas wait for each other"));
}

TEST(Bottleneck, IsNotHelpedByMoreShardsInAnAllReduce) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.3, .out = 0.7, .records = 100});
  run.set(run.shards, {.busy = 0.9, .records = 10});
  run.cpu = 1.0;
  const auto knobs = [&] {
    std::string names;
    for (const auto& advice : run.explain().finding.advice)
      names += knob_name(advice.knob, KnobStyle::flags) + ' ';
    return names;
  };
  EXPECT_THAT(knobs(), HasSubstr("--shards"));
  run.settings.all_reduce = true;
  EXPECT_EQ(run.explain().finding.limit, Limit::shards);
  EXPECT_EQ(knobs(), "--batch ");
}

TEST(AnExplanation, GivesAdviceInFieldsToWhoeverRunsAFile) {
  EXPECT_THAT(summary(one_decoder_too_few().explain(), KnobStyle::fields),
              HasSubstr("faster: --set data.decoding.decoders=4: "));
  EXPECT_EQ(knob_name(Knob::asynchronous, KnobStyle::fields), "--set aggregation.policy=async");
  EXPECT_EQ(knob_name(Knob::batch, KnobStyle::fields), "--set data.batch.rows");
}

TEST(Bottleneck, IsEvaluationThatTakesMostOfTheArithmetic) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.95, .out = 0.05, .records = 100});
  run.set({run.device}, {.busy = 1.8, .records = 10});
  run.set({run.evaluator}, {.busy = 1.2, .records = 900});
  run.cpu = 1.95;
  run.settings.evaluate_every = 1;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::evaluation);
  EXPECT_EQ(first_knob(finding), "--evaluate-every 10");
  EXPECT_THAT(finding.evidence, HasSubstr("evaluation took 67 % of the arithmetic"));
}

TEST(Bottleneck, RemarksOnEvaluationThatTakesAPart) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.95, .out = 0.05, .records = 100});
  run.set({run.device}, {.busy = 1.8, .records = 10});
  run.set({run.evaluator}, {.busy = 0.6, .records = 900});
  run.cpu = 1.95;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::replicas);
  EXPECT_THAT(finding.remarks, Contains("evaluation took 33 % of the arithmetic"));
}

TEST(Bottleneck, IsTheCheckpointerThatWritesAllTheTimeWhileUpdatesWait) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.4, .out = 0.6, .records = 100});
  run.set(run.shards, {.busy = 0.1, .records = 10});
  run.set({run.checkpointer}, {.busy = 0.9, .records = 1});
  run.cpu = 1.0;
  run.settings.checkpoint_every = 5;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::checkpoints);
  EXPECT_EQ(first_knob(finding), "--checkpoint-every 50");
}

TEST(Bottleneck, IsTheCheckpointerAlsoWhereReplicasWaitForEachOther) {
  for (const auto& [writing, limit] :
       {std::pair(0.97, Limit::checkpoints), std::pair(0.6, Limit::waiting)}) {
    auto run = fast_data(2, 1);
    run.set(run.replicas, {.busy = 0.3, .out = 0.7, .records = 100});
    run.set(run.shards, {.busy = 0.1, .records = 10});
    run.set({run.checkpointer}, {.busy = writing, .records = 1});
    run.cpu = 1.0;
    run.settings.synchronous = true;
    EXPECT_EQ(run.explain().finding.limit, limit);
  }
}

TEST(Bottleneck, RemarksOnCheckpointsThatPileUp) {
  auto run = fast_data(1, 1);
  run.set(run.replicas, {.busy = 0.95, .out = 0.05, .records = 100});
  run.set({run.checkpointer}, {.busy = 0.99, .records = 1});
  run.cpu = 1.95;
  EXPECT_THAT(run.explain().finding.remarks.at(0), HasSubstr("checkpoints are written 99 %"));
}

TEST(Bottleneck, IsNobodyWhenEverybodyWaits) {
  SyntheticRun run(2, 1, 1);
  run.set({run.reader}, {.out = 1});
  run.set(run.decoders, {.in = 1});
  run.set({run.queue}, {.in = 1});
  run.set({run.feeder}, {.in = 1});
  run.set(run.replicas, {.in = 1});
  run.cpu = 0.01;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::nothing);
  EXPECT_THAT(finding.evidence, HasSubstr("every actor waits, and 0.0 of 2 CPUs busy"));
}

TEST(Bottleneck, GoesThroughQueuesBetweenStages) {
  SyntheticRun run(1, 1, 1);
  // reader -> decoder 0 -> first queue -> cutter -> shuffle queue -> ...
  const auto first = run.add("first queue", Role::queue, {.in = 0.9, .records = 100});
  const auto cutter = run.add("cutter", Role::decoder, {.busy = 0.1, .in = 0.9, .records = 100});
  run.queues[first].capacity = 100;
  run.topology.links[1].to = first;
  run.link(first, cutter);
  run.link(cutter, run.queue);
  run.set({run.reader}, {.busy = 0.1, .out = 0.9, .records = 100});
  run.set(run.decoders, {.busy = 0.98, .records = 100});
  run.set({run.queue}, {.in = 0.9, .records = 100});
  run.set(run.replicas, {.busy = 0.1, .in = 0.9, .records = 100});
  run.cpu = 1.1;
  const auto finding = run.explain().finding;
  EXPECT_EQ(finding.limit, Limit::decoders);
  EXPECT_THAT(finding.evidence, HasSubstr("decoder 0 was busy 98 %"));
  EXPECT_THAT(finding.evidence, HasSubstr("cutter waited for input 90 %"));
}

TEST(Bottleneck, IsUnknownWithoutTwoSamples) {
  SyntheticRun run(1, 1, 1);
  Observations observed;
  observed.topology = run.topology;
  observed.samples.push_back(run.sample(1));
  const auto explanation = explain(observed, run.settings);
  EXPECT_EQ(explanation.finding.limit, Limit::unknown);
  EXPECT_THAT(summary(explanation, KnobStyle::flags), HasSubstr("too short to say"));
}

TEST(AnExplanation, SumsUpInAFewLines) {
  const auto words = summary(one_decoder_too_few().explain(), KnobStyle::flags);
  EXPECT_THAT(words, HasSubstr("limit:  decoders: decoder 0 was busy 97 % of the time"));
  EXPECT_THAT(words, HasSubstr("\nfaster: --decoders 4: a decoder uses one CPU at a time"));
  EXPECT_THAT(words, Not(HasSubstr("note:")));
}

TEST(AnExplanation, SpeaksOfOptionsToThoseWhoWriteCpp) {
  EXPECT_THAT(summary(one_decoder_too_few().explain(), KnobStyle::options),
              HasSubstr("faster: DecodeOptions::decoders = 4: "));
}

TEST(AnExplanation, HasALineForEachActorAndTheCpus) {
  const auto table = activity_table(one_decoder_too_few().explain());
  EXPECT_THAT(table, HasSubstr("2 to 20 s of the run"));
  EXPECT_THAT(
      table,
      HasSubstr("decoder 0                          1000             97 %       1 %        1 %"));
  EXPECT_THAT(table, HasSubstr("0 of 1000"));
  EXPECT_THAT(table, HasSubstr("CPU of this process: 1.20 of 2"));
}

TEST(AnExplanation, IsJson) {
  const auto json = to_json(one_decoder_too_few().explain(), KnobStyle::flags);
  EXPECT_THAT(json, HasSubstr("\"limit\": \"decoders\""));
  EXPECT_THAT(json, HasSubstr("\"knob\": \"--decoders\""));
  EXPECT_THAT(json, HasSubstr("\"blocked_on_empty\": 0.8"));
}

TEST(AnExplanation, TellsWhatEachShardWasAskedToDo) {
  test::SyntheticRun run(1, 1, 2);
  Observations observed;
  observed.topology = run.topology;
  for (int at = 0; at <= 20; ++at) {
    observed.samples.push_back(run.sample(at));
    auto& status = std::get<ShardStatus>(observed.samples.back().nodes[run.shards[1]].status);
    const auto times = static_cast<std::uint64_t>(at);
    status.pushes = 12 * times;
    status.pulls = 6 * times;
    status.pulled_rows = 300 * times;
    status.pushed_rows = 280 * times;
    status.backups = 1;
    status.version = times;
    status.bytes = 4000;
  }
  const auto explanation = explain(observed, run.settings);
  const auto table = activity_table(explanation);
  EXPECT_THAT(table, HasSubstr("0 pushes/s\n"));
  EXPECT_THAT(table, HasSubstr("12 pushes/s, 6 pulls/s; rows/s: 300 pulled, 280 pushed; "
                               "1 copy in step\n"));
  const auto json = to_json(explanation, KnobStyle::options);
  for (const auto* field :
       {"\"pushes_per_second\": 12.0", "\"pulls_per_second\": 6.0", "\"version\": 20",
        "\"pulled_rows_per_second\": 300.0", "\"pushed_rows_per_second\": 280.0", "\"bytes\": 4000",
        "\"backups\": 1"})
    EXPECT_THAT(json, HasSubstr(field));
}

}  // namespace
}  // namespace troupe
