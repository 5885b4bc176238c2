#include "troupe/actors/explain/wait_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

enum Doing { kWorking, kWaitingForInput, kWaitingForRoom, kIdle };

/// A topology of which two samples are taken, ten seconds apart.
class Waits : public ::testing::Test {
 protected:
  std::size_t stage(const std::string& name, Doing doing, Role role = Role::decoder) {
    topology.nodes.push_back({name, role});
    StageStatus end;
    const std::chrono::seconds time(10);
    if (doing == kWorking) end.busy = time;
    if (doing == kWaitingForInput) end.waiting_for_input = time;
    if (doing == kWaitingForRoom) end.waiting_for_output = time;
    add(StageStatus{}, end);
    return topology.nodes.size() - 1;
  }
  std::size_t queue(const QueueStatus& status) {
    topology.nodes.push_back({status.name, Role::queue});
    add(status, status);
    return topology.nodes.size() - 1;
  }
  static QueueStatus full(const std::string& name, std::int64_t capacity) {
    QueueStatus q;
    q.name = name;
    q.size = q.capacity = capacity;
    q.producers = 1;
    q.waiting_enqueues = 1;
    return q;
  }
  static QueueStatus empty(const std::string& name, std::int64_t capacity) {
    QueueStatus q;
    q.name = name;
    q.capacity = capacity;
    q.producers = 1;
    q.waiting_dequeues = 1;
    return q;
  }
  void link(std::size_t from, std::size_t to) { topology.links.push_back({from, to}); }
  std::vector<Stall> stalls() const { return find_stalls(topology, before, after); }

  Topology topology;
  Sample before, after;

 private:
  template <class Status>
  void add(const Status& begin, const Status& end) {
    before.nodes.push_back({.status = begin});
    after.at = std::chrono::seconds(10);
    after.nodes.push_back({.at = after.at, .status = end});
  }
};

TEST_F(Waits, FormACycleThroughTwoQueues) {
  // a fills x first, then y; b takes from y first, then from x.
  const auto a = stage("a", kWaitingForRoom);
  const auto b = stage("b", kWaitingForInput);
  const auto x = queue(full("x", 8));
  const auto y = queue(empty("y", 4));
  for (const auto q : {x, y}) {
    link(a, q);
    link(q, b);
  }
  const auto found = stalls();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, Stall::Kind::cycle);
  EXPECT_THAT(found[0].nodes, ElementsAre(a, x, b, y));
  EXPECT_THAT(found[0].message,
              HasSubstr("cycle: a waits for room in queue 'x' (8 of 8), whose only consumer b "
                        "waits for an element of queue 'y' (0 of 4), whose only producer a"));
}

TEST_F(Waits, AreNoCycleWhileOneOfTheConsumersWorks) {
  const auto a = stage("a", kWaitingForRoom);
  const auto b = stage("b", kWaitingForInput);
  const auto c = stage("c", kWorking);
  const auto x = queue(full("x", 8));
  const auto y = queue(empty("y", 4));
  for (const auto q : {x, y}) {
    link(a, q);
    link(q, b);
  }
  link(x, c);
  EXPECT_THAT(stalls(), IsEmpty());
}

TEST_F(Waits, FormACycleOfThreeAndWhoeverOnlyWaitsForItIsLeftOut) {
  const auto a = stage("a", kWaitingForInput);
  const auto b = stage("b", kWaitingForInput);
  const auto c = stage("c", kWaitingForInput);
  const auto d = stage("d", kWaitingForInput);
  const auto ab = queue(empty("ab", 1));
  const auto bc = queue(empty("bc", 2));
  const auto ca = queue(empty("ca", 3));
  const auto cd = queue(empty("cd", 4));
  link(a, ab);
  link(ab, b);
  link(b, bc);
  link(bc, c);
  link(c, ca);
  link(ca, a);
  link(c, cd);
  link(cd, d);
  const auto found = stalls();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].nodes, ElementsAre(a, ca, c, bc, b, ab));
}

TEST_F(Waits, AreForEverAtAQueueWhoseProducersNeverAttached) {
  const auto producer = stage("decoder 0", kIdle);
  const auto consumer = stage("feeder", kWaitingForInput, Role::feeder);
  auto status = empty("examples", 100);
  status.producers = 0;
  const auto q = queue(status);
  link(producer, q);
  link(q, consumer);
  const auto found = stalls();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, Stall::Kind::no_producer);
  EXPECT_THAT(found[0].nodes, ElementsAre(q));
  EXPECT_THAT(found[0].message, HasSubstr("queue 'examples' (0 of 100) has no producer: decoder 0 "
                                          "ended or never started; 1 dequeue waits for ever"));
}

TEST_F(Waits, AreForEverAtAQueueThatNothingIsConnectedTo) {
  auto status = empty("examples", 100);
  status.producers = 0;
  status.size = status.floor = 50;
  queue(status);
  EXPECT_THAT(stalls().at(0).message,
              HasSubstr("(50 of 100, 50 of which stay) has no producer: no producer is connected"));
}

TEST_F(Waits, AreNotForEverWhereAProducerIsNotInTheTopology) {
  queue(empty("examples", 100));
  EXPECT_THAT(stalls(), IsEmpty());
}

TEST_F(Waits, AreForEverAtAFullQueueWhoseConsumersHaveEnded) {
  const auto producer = stage("decoder 0", kWaitingForRoom);
  const auto consumer = stage("feeder", kIdle, Role::feeder);
  const auto q = queue(full("examples", 100));
  link(producer, q);
  link(q, consumer);
  const auto found = stalls();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, Stall::Kind::no_consumer);
  EXPECT_THAT(found[0].message,
              HasSubstr("queue 'examples' (100 of 100) is full and nobody takes from it: feeder "
                        "ended or never started; 1 enqueue waits for ever"));
}

TEST_F(Waits, AreFineInATopologyThatMoves) {
  const auto reader = stage("reader", kWorking, Role::reader);
  const auto decoder = stage("decoder 0", kWaitingForInput);
  const auto feeder = stage("feeder", kWaitingForInput, Role::feeder);
  const auto q = queue(empty("examples", 100));
  link(reader, decoder);
  link(decoder, q);
  link(q, feeder);
  EXPECT_THAT(stalls(), IsEmpty());
}

TEST_F(Waits, ForASilentActorAreNotForEver) {
  const auto reader = stage("reader", kIdle, Role::reader);
  const auto decoder = stage("decoder 0", kWaitingForInput);
  const auto q = queue(empty("examples", 100));
  link(reader, decoder);
  link(decoder, q);
  after.nodes[reader].silent = std::chrono::seconds(9);
  EXPECT_THAT(stalls(), IsEmpty());
}

TEST_F(Waits, OfAnEvaluationSetThatNobodyHasAskedForYetAreFine) {
  const auto decoder = stage("evaluation decoder 0", kWaitingForRoom);
  const auto evaluator = stage("evaluator", kIdle, Role::evaluator);
  const auto q = queue(full("evaluation queue", 100));
  link(decoder, q);
  link(q, evaluator);
  EXPECT_THAT(stalls(), IsEmpty());
}

}  // namespace
}  // namespace troupe
