#include "troupe/actors/topology/topology_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "support/temporary_directory.h"
#include "troupe/actors/allreduce/reduction.h"
#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/ops/array.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Four numbers to one.
class APlan : public ::testing::Test {
 protected:
  APlan() {
    std::string x, y;
    for (int i = 0; i < 60; ++i) {
      x += "1 2 3 4\n";
      y += "1\n";
    }
    test::write_file(directory / "x.txt", x);
    test::write_file(directory / "y.txt", y);
  }
  TopologyFile file(const std::string& more) const {
    return parse_topology(R"(data {
  stream {
    reader { name: "text" option { name: "files" value: "x.txt" } }
    decoder { name: "numbers" option { name: "shape" value: "4" } }
  }
  stream {
    reader { name: "text" option { name: "files" value: "y.txt" } }
    decoder { name: "numbers" option { name: "shape" value: "1" } }
  }
  decoding { decoders: 3 }
  fifo { capacity: 60 }
  batch { rows: 10 remainder: DROP }
}
)" + more,
                          directory / "run.pbtxt");
  }
  TopologyPlan plan(const std::string& more) const {
    const auto plans = plans_of(file(kLayers + more));
    EXPECT_EQ(plans.size(), 1U);
    return plans.at(0);
  }
  static const TopologyPlan::Actors& actors(const TopologyPlan& plan, const std::string& id) {
    const auto found = std::find_if(plan.actors.begin(), plan.actors.end(),
                                    [&](const auto& each) { return each.id == id; });
    EXPECT_NE(found, plan.actors.end()) << id;
    return *found;
  }
  static const TopologyPlan::Flow& flow(const TopologyPlan& plan, const std::string& from,
                                        const std::string& to) {
    const auto found = std::find_if(plan.flows.begin(), plan.flows.end(), [&](const auto& each) {
      return each.from == from && each.to == to;
    });
    EXPECT_NE(found, plan.flows.end()) << from << " -> " << to;
    return *found;
  }

  // 4 * 8 + 8 = 40 numbers, then 8 * 1 + 1 = 9.
  const std::string kLayers = R"(
model {
  layer { name: "hidden" dense { units: 8 activation: "tanh" } }
  layer { name: "out" dense { units: 1 } }
  loss: "mean_squared_error"
}
threads { inter_op: 3 intra_op: 2 }
)";
  test::TemporaryDirectory directory;
};

TEST_F(APlan, CountsActorsAndThreads) {
  const auto p = plan("replicas: 2 shards: 2 checkpoints { directory: 'd' every: 5 }");
  EXPECT_EQ(actors(p, "reader").count, 1);
  EXPECT_EQ(actors(p, "decoder").count, 3);
  EXPECT_EQ(actors(p, "replica").count, 2);
  EXPECT_EQ(actors(p, "replica").detail, "5 rows each, sync");
  EXPECT_EQ(actors(p, "checkpointer").own_threads, 1);
  EXPECT_EQ(p.threads(), 3 + 1 + 2);  // inter-op, one more inside an op, reader and checkpointer
}

TEST_F(APlan, PlacesVariablesAsATrainingDoes) {
  const auto p = plan("shards: 2");
  std::map<std::string, std::string> homes;
  for (const auto& v : p.variables) homes[v.name] = v.home;
  // 32 numbers in one shard; 8, 8 and 1 in the other.
  EXPECT_EQ(homes["hidden/weights"], "shard 0");
  EXPECT_EQ(homes["hidden/biases"], "shard 1");
  EXPECT_EQ(homes["out/weights"], "shard 1");
  EXPECT_EQ(homes["out/biases"], "shard 1");
  EXPECT_EQ(p.variables[0].why, "the largest; all shards were empty");
  EXPECT_EQ(p.variables[2].why, "number 3 by bytes; shard 1 had least: 32 bytes");

  const auto in_turn = plan("shards: 2 placement: 'round_robin'");
  EXPECT_EQ(in_turn.variables[2].home, "shard 0");
  EXPECT_EQ(in_turn.variables[2].why, "number 2 in order of creation, in turn");
  EXPECT_EQ(plan("").variables[0].why, "the only shard");
}

TEST_F(APlan, CountsBytesOfEachLink) {
  const auto p = plan("shards: 2 replicas: 2 optimizer: 'adam'");
  EXPECT_EQ(flow(p, "queue", "feeder").bytes, 10U * 5 * 4);
  EXPECT_EQ(flow(p, "feeder", "replica").bytes, 5U * 5 * 4);
  EXPECT_EQ(flow(p, "shard 0", "replica").bytes, 32U * 4);
  EXPECT_EQ(flow(p, "replica", "shard 1").bytes, 17U * 4);
  EXPECT_EQ(flow(p, "replica", "shard 1").when, "step");
  EXPECT_EQ(actors(p, "shard 1").bytes, 3U * 17 * 4);  // values, m and v

  EXPECT_EQ(flow(plan("replicas: 2 aggregation { policy: 'async' }"), "feeder", "replica").bytes,
            10U * 5 * 4);
  EXPECT_EQ(flow(plan("replicas: 2 aggregation { policy: 'local:8' }"), "replica", "shard 0").when,
            "8 steps");
}

TEST_F(APlan, SaysWhatAShardReallyHolds) {
  const auto p = plan("shards: 2 optimizer: 'adam' average_decay: 0.9");
  std::vector<ShardVariable> variables;
  for (const auto& v : p.variables)
    if (v.home == "shard 1")
      variables.push_back({v.name, Tensor(v.spec.dtype, v.spec.shape), v.trainable});
  const ParameterStore shard("shard 1", variables, optim::adam(), 0.01, 0.9);
  EXPECT_EQ(shard.bytes(), actors(p, "shard 1").bytes);
}

TEST_F(APlan, ShowsVariablesThatAreCut) {
  const auto p = plan("shards: 2 max_shard_bytes: 100");
  std::map<std::string, std::string> homes;
  for (const auto& v : p.variables) homes[v.name] = v.home;
  EXPECT_EQ(homes["hidden/weights rows 0 to 1"], "shard 0");
  EXPECT_EQ(homes["hidden/weights rows 2 to 3"], "shard 1");
  EXPECT_EQ(p.variables[0].bytes, 16U * 4);
  EXPECT_THAT(p.variables[0].why, HasSubstr("cut, as it has more than 100 bytes"));
  EXPECT_THAT(p.variables[2].why, Not(HasSubstr("cut")));
  EXPECT_EQ(
      flow(p, "shard 0", "replica").bytes.value() + flow(p, "shard 1", "replica").bytes.value(),
      49U * 4);
}

TEST_F(APlan, ShowsCopiesOfShards) {
  const auto p = plan("shards: 2 replicas: 3 backup_shards: 2 optimizer: 'adam'");
  EXPECT_EQ(actors(p, "copies of shard 1").count, 2);
  EXPECT_EQ(actors(p, "copies of shard 1").bytes, 2 * actors(p, "shard 1").bytes);
  EXPECT_EQ(actors(p, "keeper").bytes, 49U * 4);
  EXPECT_EQ(flow(p, "shard 1", "copies of shard 1").bytes, 3U * 17 * 4);
  EXPECT_THAT(to_dot(p), HasSubstr("\"shard 1\" -> \"copies of shard 1\""));
  const auto many = to_dot(plan("shards: 6 backup_shards: 1 max_shard_bytes: 8"));
  EXPECT_THAT(many, HasSubstr("6 x copies of shards"));
  EXPECT_THAT(many, Not(HasSubstr("\"copies of shard 1\"")));
}

TEST_F(APlan, CountsBytesOfCompressedGradients) {
  const auto pushed = [&](const std::string& how) {
    const auto p = plan("replicas: 2 aggregation { compression: '" + how + "' }");
    EXPECT_EQ(flow(p, "shard 0", "replica").bytes, 49U * 4);
    EXPECT_THAT(flow(p, "replica", "shard 0").what, HasSubstr(how));
    return flow(p, "replica", "shard 0").bytes.value();
  };
  EXPECT_EQ(pushed("bfloat16"), 49U * 2);
  EXPECT_EQ(pushed("float16"), 49U * 2);
  // A tenth of 32, 8, 8 and 1 values, each with its place.
  EXPECT_EQ(pushed("topk:0.1"), (4U + 1 + 1 + 1) * (4 + 4));
}

TEST_F(APlan, CountsBytesOfAnAllReduceAsItsMembersSendThem) {
  for (const std::string kind : {"ring", "tree"})
    for (const std::uint32_t members : {2U, 3U, 5U}) {
      // What members really send to each other, in a room without actors.
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> links;
      std::deque<std::pair<std::uint32_t, ReductionPart>> under_way;
      std::vector<std::unique_ptr<ReductionRound>> group;
      for (std::uint32_t i = 0; i < members; ++i)
        group.push_back(make_reduction(parse_all_reduce(kind), i, members,
                                       [&, i](std::uint32_t to, ReductionPart part) {
                                         for (const auto& sum : part.sums)
                                           links[{i, to}] += sum.byte_size();
                                         under_way.emplace_back(to, std::move(part));
                                       }));
      for (std::uint32_t i = 0; i < members; ++i)
        group[i]->begin(1, {{Tensor(DType::float32, {49})}, {{}}});
      while (!under_way.empty()) {
        auto [to, part] = std::move(under_way.front());
        under_way.pop_front();
        group[to]->take(std::move(part));
      }
      std::uint64_t most = 0;
      for (const auto& [link, bytes] : links) most = std::max(most, bytes);
      const auto p = plan("replicas: " + std::to_string(members) + " aggregation { all_reduce: '" +
                          kind + "' }");
      const auto planned = flow(p, "shard 0", "shard 0").bytes.value();
      EXPECT_GE(planned + 2 * sizeof(float), most) << kind << members;
      EXPECT_LE(planned, most + 2 * sizeof(float)) << kind << members;
      EXPECT_EQ(actors(p, "shard 0").count, static_cast<int>(members));
    }
}

TEST_F(APlan, ShowsRowsOfTables) {
  auto described = file(kLayers);
  described.model = [](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
    const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
    const auto table = variable(*m.graph, "embedding", {1 << 17, 4}, init::zeros());
    m.inputs = {x, y};
    m.loss = nn::mean_squared_error(reduce_sum(gather(table, cast(y, DType::int32)), {1}), x);
    return m;
  };
  const auto p = plans_of(described).at(0);
  const auto& table = p.variables.at(0);
  EXPECT_THAT(table.why, HasSubstr("a batch reads 10 of its rows at most"));
  EXPECT_EQ(flow(p, "shard 0", "replica").what, "rows of tables, at most");
  EXPECT_EQ(flow(p, "shard 0", "replica").bytes, 10U * 4 * 4);
  EXPECT_EQ(flow(p, "replica", "shard 0").bytes, 10U * (4 * 4 + 8));
}

TEST_F(APlan, ShowsDevices) {
  const auto p = plan("replicas: 3 devices: 2");
  EXPECT_EQ(actors(p, "device").count, 2);
  EXPECT_THAT(actors(p, "device").detail, HasSubstr("replica i on device i modulo 2"));
}

TEST_F(APlan, BoundsWhatEverybodyHolds) {
  const auto p = plan("replicas: 2");
  const auto memory = file(kLayers).data.memory(2);
  EXPECT_EQ(actors(p, "reader").bytes, memory.readers);
  EXPECT_EQ(actors(p, "decoder").bytes, memory.decoders);
  EXPECT_EQ(actors(p, "queue").bytes, memory.queue);
  EXPECT_EQ(actors(p, "replica").bytes, memory.batches);
  EXPECT_GT(actors(p, "device").bytes, 0U);
  EXPECT_EQ(p.bytes(), std::accumulate(p.actors.begin(), p.actors.end(), std::uint64_t{0},
                                       [](auto sum, const auto& a) { return sum + a.bytes; }));
}

TEST_F(APlan, SaysWhichVariablesHavePoliciesOfTheirOwn) {
  const auto planned = plan(R"(replicas: 2 shards: 2
aggregation { group { variables: "out/*" policy: "async" } })");
  for (const auto& variable : planned.variables) {
    const bool own = variable.name.starts_with("out/");
    EXPECT_EQ(variable.home, own ? "shard 1" : "shard 0");
    EXPECT_EQ(variable.why,
              own ? "it is one of out/*: async" : "it has no policy of its own: sync");
  }
  EXPECT_THAT(actors(planned, "shard 0").detail, HasSubstr(", sync"));
  EXPECT_THAT(actors(planned, "shard 1").detail, HasSubstr(", async"));
  EXPECT_EQ(actors(planned, "coordinator").detail, "decides by sync; for out/* by async");
  EXPECT_THAT(describe(planned, false), HasSubstr("for out/* by async"));
}

TEST_F(APlan, SaysWhatStagesHold) {
  const auto p = plan("stages { cut_after: 'hidden' micro_batches: 5 } learning_rate: '0.1'");
  EXPECT_THAT(actors(p, "stage 0").detail, HasSubstr("hidden; at most 2 micro-batches under way"));
  EXPECT_THAT(actors(p, "stage 1").detail, HasSubstr("out; at most 1 micro-batch under way"));
  EXPECT_EQ(flow(p, "stage 0", "stage 1").bytes, 2U * 8 * 4);  // rows of a micro-batch, units
  EXPECT_EQ(flow(p, "stage 1", "stage 0").bytes, 2U * 8 * 4);
  EXPECT_THAT(p.note, HasSubstr("P = 2 and M = 5"));
  const auto all = plan("stages { cut_after: 'hidden' micro_batches: 5 schedule: 'gpipe' }");
  EXPECT_THAT(actors(all, "stage 0").detail, HasSubstr("at most 5 micro-batches under way"));
}

TEST_F(APlan, IsOneForEachMemberAndOneForAll) {
  const auto plans =
      plans_of(file("ensemble { member { name: 'a' " + kLayers.substr(0, kLayers.find("threads")) +
                    "} member { name: 'b' checkpoint: 'run/b' " +
                    kLayers.substr(0, kLayers.find("threads")) + "} }"));
  ASSERT_EQ(plans.size(), 2U);  // b is trained already
  EXPECT_THAT(plans[0].title, HasSubstr("member a"));
  EXPECT_EQ(actors(plans[1], "member b").bytes, 49U * 4);
}

TEST_F(APlan, DealsTheReplicasOfAllMembersOutOverTheDevices) {
  const auto layers = kLayers.substr(0, kLayers.find("threads"));
  const auto plans = plans_of(file("devices: 3 replicas: 2 ensemble { member { name: 'a' " +
                                   layers + "} member { name: 'b' device: '/cpu:1' " + layers +
                                   "} member { name: 'c' " + layers + "} }"));
  EXPECT_THAT(actors(plans[0], "device").detail, HasSubstr("replica i on device i modulo 3"));
  EXPECT_THAT(actors(plans[1], "device").detail, HasSubstr("runs all graphs"));
  EXPECT_THAT(plans[1].nodes[0].device, HasSubstr("CPU:1"));
  EXPECT_THAT(actors(plans[2], "device").detail, HasSubstr("replica i on device i + 2 modulo 3"));
}

TEST_F(APlan, IsToldInWords) {
  const auto p = plan("replicas: 2 shards: 2");
  const auto words = describe(p, false);
  EXPECT_THAT(words, HasSubstr("2  replicas"));
  EXPECT_THAT(words, HasSubstr("predicted bottleneck: "));
  EXPECT_THAT(words, Not(HasSubstr("hidden/weights")));
  const auto more = describe(p, true);
  EXPECT_THAT(more, HasSubstr("hidden/weights  float32 [4, 8]"));
  EXPECT_THAT(more, HasSubstr("replica -> shard 1"));
  EXPECT_THAT(more, HasSubstr("no wish"));
}

TEST_F(APlan, IsDrawn) {
  const auto dot = to_dot(plan("replicas: 3 shards: 2 name: 'say \"hi\\\\'"));
  EXPECT_THAT(dot, HasSubstr("label=\"topology say \\\"hi\\\\\""));
  EXPECT_THAT(dot, HasSubstr("\"replica\" -> \"shard 1\""));
  EXPECT_THAT(dot, HasSubstr("3 x replicas"));
  const auto many = to_dot(plan("shards: 4 replicas: 2"));
  EXPECT_THAT(many, HasSubstr("\"shard 3\""));
}

}  // namespace
}  // namespace troupe
