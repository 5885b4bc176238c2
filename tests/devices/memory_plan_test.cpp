#include "troupe/devices/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fragment_runs.h"
#include "support/interpreter.h"
#include "support/test_ops.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/random.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

class MemoryPlanTest : public testing::Test {
 protected:
  MemoryPlanTest() { test::TestOps::add(); }

  Output copy(const Output& x, const std::vector<Output>& after = {}) {
    const ControlScope scope(*graph, after);
    return graph->add("test_copy", {x}).output(0);
  }

  struct Planned {
    LoweredGraph lowered;
    StepOrder schedule;
    MemoryPlan memory;
  };
  Planned plan(const OutputList& fetches, bool parallel) {
    graph->finish();
    FragmentSpec spec{graph, {"x"}, {}, {}, {}};
    for (const auto& fetch : fetches) spec.fetches.push_back(fetch.name());
    const std::vector<TensorSpec> fed{x.spec()};
    Planned planned{lower(select_subgraph(spec), fed), {}, {}};
    planned.schedule = make_schedule(planned.lowered);
    const auto precedence =
        parallel ? Precedence::by_dependencies(planned.schedule) : Precedence::in_order();
    planned.memory = plan_memory(planned.lowered, planned.schedule, precedence);
    return planned;
  }
  std::size_t arena(const OutputList& fetches, bool parallel = false) {
    return plan(fetches, parallel).memory.arena_bytes / kBytes;
  }

  static constexpr std::size_t kBytes = 1024;  // of one value
  GraphPtr graph = std::make_shared<Graph>();
  Output x = placeholder(*graph, "x", DType::float32, {256});
};

TEST_F(MemoryPlanTest, UsesTwoBuffersInTurnsForAChain) {
  auto y = x;
  for (int i = 0; i < 10; ++i) y = copy(y);
  EXPECT_EQ(arena({reduce_sum(y)}), 2u);
}

TEST_F(MemoryPlanTest, NeedsOneBufferForAChainInPlace) {
  auto y = copy(x);
  for (int i = 0; i < 10; ++i) y = exp(y);
  const auto planned = plan({reduce_sum(y)}, false);
  EXPECT_EQ(planned.memory.arena_bytes, kBytes);
  EXPECT_EQ(planned.memory.in_place, 10);
}

TEST_F(MemoryPlanTest, ComputesInPlaceInWhatLeaves) {
  EXPECT_EQ(arena({exp(exp(copy(x)))}), 0u) << "all in the tensor that is answered";
}

TEST_F(MemoryPlanTest, NeverWritesOverWhatIsFedOrFetchedOrNeededLater) {
  const auto a = copy(x);
  const auto b = exp(a);
  const auto of_fed = exp(x);
  const auto product = reduce_sum(copy(b) * a);
  EXPECT_EQ(plan({b, a}, false).memory.in_place, 0);
  EXPECT_EQ(plan({of_fed}, false).memory.in_place, 0);
  EXPECT_EQ(plan({product}, false).memory.in_place, 1) << "the product, but not exp";
}

TEST_F(MemoryPlanTest, KeepsWhatMayRunAtTheSameTimeApart) {
  const auto branch = [&](double factor) {
    return reduce_sum(copy(copy(copy(x + constant(*graph, factor)))));
  };
  const auto sum = branch(1) + branch(2);
  EXPECT_EQ(arena({sum}, false), 2u) << "one branch after the other";
  EXPECT_EQ(arena({sum}, true), 4u) << "two at the same time";
}

TEST_F(MemoryPlanTest, UnderstandsThatControlInputsOrderBranches) {
  const auto first = reduce_sum(copy(copy(x)));
  const auto second = reduce_sum(copy(copy(copy(x, {first}))));
  EXPECT_EQ(arena({first + second}, true), 2u);
}

/// Every pair of buffers of a random graph: if they overlap, one is over before
/// the other begins.
TEST_F(MemoryPlanTest, LetsBuffersOverlapOnlyWhenTheirStepsAreOrdered) {
  RandomStream random(3);
  OutputList values{x};
  for (int i = 0; i < 120; ++i) {
    const auto a = values[random.below(values.size())];
    const auto b = values[random.below(values.size())];
    values.push_back(random.below(3) == 0 ? copy(a) : random.below(2) == 0 ? exp(a) : add(a, b));
  }
  auto sum = values.back();
  for (int i = 2; i < 20; ++i) sum = copy(add(sum, values[values.size() - i]));
  for (const bool parallel : {false, true}) {
    const auto planned = plan({sum, values[60]}, parallel);
    const auto precedence =
        parallel ? Precedence::by_dependencies(planned.schedule) : Precedence::in_order();
    const auto ordered = [&](const PlannedBuffer& a, const PlannedBuffer& b) {
      return std::ranges::all_of(a.steps, [&](int i) {
        return std::ranges::all_of(b.steps, [&](int j) { return precedence.before(i, j); });
      });
    };
    int overlaps = 0;
    for (const auto& a : planned.memory.buffers)
      for (const auto& b : planned.memory.buffers) {
        if (&a >= &b || a.leaves || b.leaves) continue;
        if (a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
        ++overlaps;
        EXPECT_TRUE(ordered(a, b) || ordered(b, a)) << (parallel ? "parallel" : "in order");
      }
    EXPECT_GT(overlaps, 10);
  }
}

TEST_F(MemoryPlanTest, ChangesNoResult) {
  RandomStream random(5);
  OutputList values{x, x * 0.5};
  for (int i = 0; i < 150; ++i) {
    const auto a =
        values[values.size() - 1 - random.below(std::min<std::size_t>(values.size(), 8))];
    const auto b =
        values[values.size() - 1 - random.below(std::min<std::size_t>(values.size(), 8))];
    values.push_back(random.below(3) == 0   ? tanh(a)
                     : random.below(2) == 0 ? sub(a, b)
                                            : add(mul(a, b), reduce_mean(a)));
  }
  OutputList fetches{values.end() - 5, values.end()};
  fetches.push_back(values[50]);
  auto fed = Tensor(DType::float32, {256});
  for (auto& value : fed.write<float>()) value = static_cast<float>(random.normal());
  const auto expected = test::run_graph(fetches, {{"x", fed}});
  for (const int inter_op : {1, 2}) {
    test::FragmentRuns run(graph, {"x"}, fetches, {.intra_op = 1, .inter_op = inter_op});
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto got = run({fed});
      for (std::size_t i = 0; i < fetches.size(); ++i)
        EXPECT_TRUE(same_bits(got[i], expected[i])) << fetches[i].name();
    }
  }
}

}  // namespace
}  // namespace troupe
