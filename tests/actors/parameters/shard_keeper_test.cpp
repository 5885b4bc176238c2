#include "troupe/actors/parameters/shard_keeper.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "support/actor_test.h"
#include "support/fake_actors.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/training/replica.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint32_t kShards = 2;
constexpr std::uint32_t kReplicas = 2;
constexpr std::uint64_t kBatches = 4;  // of each replica

/// Two variables, each in a shard of its own, and gradients that depend on both: an update
/// that is lost, made twice or made of other sets gives other values.
test::FakeRun gradients(const TensorList& feeds) {
  const auto x = feeds.at(0).read<float>()[0];
  const auto a = static_cast<float>(feeds.at(1).item());
  const auto b = static_cast<float>(feeds.at(2).item());
  // What is not finite is in one shard only, so that nobody else can tell.
  const auto of_b = std::isnan(x) ? 0.0f : x - 0.7f * a * b;
  return {{Tensor::scalar(a + b)},
          {Tensor::of<float>({1}, {x * b + 0.3f * a}), Tensor::of<float>({1}, {of_b})},
          {}};
}

/// A training run that moves when it is told, one message after the other.
class SteppedRun : public test::ActorTest {
 public:
  explicit SteppedRun(const std::string& policy, double clip_norm = 0, bool backups = true,
                      std::optional<std::uint64_t> poisoned = {}) {
    CoordinatorOptions c;
    if (poisoned) c.aggregation.not_finite = NotFinite::skip;
    c.aggregation.policy = policy;
    c.aggregation.clip_norm = clip_norm;
    c.shards = kShards;
    c.replicas = kReplicas;
    c.deterministic = policy == "sync";
    coordinator_ = spawn(coordinator, c);
    ShardKeeperOptions k;
    k.listener = spawn(test::report_keeper, reports);
    for (std::uint32_t i = 0; i < kShards; ++i) {
      ShardOptions o;
      o.index = i;
      o.variables = {{i == 0 ? "a" : "b", Tensor::of<float>({1}, {1.5f}), true}};
      o.optimizer = optim::momentum(0.9);
      o.schedule = 0.01;
      o.coordinator = coordinator_;
      o.policy = policy;
      k.shards.push_back({spawn(parameter_shard, o, SnapshotSink()), o});
    }
    ReplicaOptions r;
    for (const auto& kept : k.shards) r.shards.push_back(kept.shard);
    if (backups) r.keeper = keeper_ = spawn(shard_keeper, k);
    shards_ = r.shards;
    r.fragment.inputs = 1;
    r.fragment.variables = {"a", "b"};
    r.fragment.parts = {{"a", PartKind::gradient, false}, {"b", PartKind::gradient, false}};
    r.fragment.values = {"loss"};
    r.device = spawn(test::fake_device, test::FakeKernel(gradients), false);
    r.listener = spawn(test::report_keeper, reports);
    for (r.index = 0; r.index < kReplicas; ++r.index) {
      std::vector<Batch> batches;
      for (std::uint64_t i = 0; i < kBatches; ++i) {
        const auto number = i * kReplicas + r.index;
        const auto x = number == poisoned ? std::numeric_limits<float>::quiet_NaN()
                                          : 0.1f * static_cast<float>(number + 1);
        batches.push_back({number, {Tensor::of<float>({1}, {x})}});
      }
      r.batches = spawn(test::listed_batches, batches, fault(Code::out_of_range, "end of data"));
      replicas_.push_back(spawn(replica, r));
    }
    for (const auto& one : replicas_)
      system.spawn([one, this](caf::event_based_actor* self) {
        self->request(one, caf::infinite, start_atom_v)
            .then([this](std::uint64_t) { ++done; },
                  [this](const caf::error& error) { failure = render(error); });
      });
  }
  void TestBody() override {}

  bool step() { return scheduler().try_run_once(); }
  void finish() { settle(); }

  Shard primary(std::size_t shard) {
    return keeper_ ? keeper().shards[shard].shard : shards_[shard];
  }
  Shard copy(std::size_t shard) { return keeper().shards[shard].copies.at(0); }
  /// The copy has everything, so that losing either of the two loses nothing.
  bool in_step(std::size_t shard) {
    return state_of<Shard, ShardState>(primary(shard)).effects.in_step() == 1 &&
           state_of<Shard, ShardState>(copy(shard)).whole;
  }
  void kill_now(const Shard& shard) { caf::anon_send_exit(shard, caf::exit_reason::kill); }
  TensorList weights() {
    TensorList all;
    for (std::size_t i = 0; i < kShards; ++i) {
      const auto snapshot = ask<ShardSnapshot>(primary(i), snapshot_atom_v);
      for (const auto& saved : snapshot->value->tensors) all.push_back(saved.values);
    }
    return all;
  }
  Version version(std::size_t shard) {
    return ask<ShardStatus>(primary(shard), status_atom_v)->value->version;
  }

  std::uint32_t done = 0;
  std::string failure;
  std::shared_ptr<test::Reports> reports = std::make_shared<test::Reports>();

 private:
  template <class Handle, class State>
  State& state_of(const Handle& handle) {
    auto* actor = caf::actor_cast<caf::abstract_actor*>(handle);
    return dynamic_cast<typename Handle::template stateful_pointer<State>>(actor)->state;
  }
  ShardKeeperState& keeper() { return state_of<ShardKeeper, ShardKeeperState>(keeper_); }

  Coordinator coordinator_;
  ShardKeeper keeper_;
  std::vector<Shard> shards_;
  std::vector<Replica> replicas_;
};

void expect_same(const TensorList& a, const TensorList& b, const std::string& when) {
  ASSERT_EQ(a.size(), b.size()) << when;
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(same_bits(a[i], b[i])) << when << ", tensor " << i;
}

enum class Victim { primary, copy };

/// Kills one actor after so many messages; false when the run was over before.
bool run_and_kill(const std::string& policy, double clip_norm, std::size_t shard, Victim victim,
                  int after, const TensorList& undisturbed) {
  SteppedRun run(policy, clip_norm);
  for (int i = 0; i < after; ++i)
    if (!run.step()) return false;
  run.kill_now(victim == Victim::primary ? run.primary(shard) : run.copy(shard));
  run.finish();
  const auto when = text("killed ", victim == Victim::primary ? "shard " : "the copy of shard ",
                         shard, " after ", after, " messages, policy ", policy);
  EXPECT_EQ(run.failure, "") << when;
  EXPECT_EQ(run.done, kReplicas) << when;
  EXPECT_EQ(run.reports->events.size(), 1u) << when;
  expect_same(run.weights(), undisturbed, when);
  return true;
}

TEST(ShardKeeperRuns, EndWithTheBitsOfAnUndisturbedRunWhoeverIsKilledWhen) {
  for (const double clip_norm : {0.0, 0.5}) {
    SteppedRun undisturbed("sync", clip_norm, false);
    undisturbed.finish();
    ASSERT_EQ(undisturbed.done, kReplicas);
    const auto wanted = undisturbed.weights();
    for (const auto victim : {Victim::primary, Victim::copy})
      for (std::size_t shard = 0; shard < kShards; ++shard) {
        int moments = 0;
        while (run_and_kill("sync", clip_norm, shard, victim, moments, wanted) &&
               !::testing::Test::HasFailure())
          ++moments;
        EXPECT_GT(moments, 100);
      }
  }
}

TEST(ShardKeeperRuns, SurviveOneDeathAfterTheOther) {
  SteppedRun undisturbed("sync", 0, false);
  undisturbed.finish();
  const auto wanted = undisturbed.weights();
  std::uint64_t deaths = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SteppedRun run("sync");
    RandomStream random(seed);
    std::string history;
    std::size_t killed = 0;
    for (auto wait = random.below(30); run.step();) {
      if (wait > 0) {
        --wait;
        continue;
      }
      const auto shard = random.below(kShards);
      // The one that died before has been replaced, and the new copy has everything.
      if (run.reports->events.size() < killed || !run.in_step(shard)) continue;
      const bool primary = random.below(2) == 0;
      history += text(primary ? " p" : " c", shard);
      run.kill_now(primary ? run.primary(shard) : run.copy(shard));
      ++deaths;
      ++killed;
      wait = random.below(30);
    }
    run.finish();
    const auto when = text("seed ", seed, ":", history);
    EXPECT_EQ(run.failure, "") << when;
    EXPECT_EQ(run.done, kReplicas) << when;
    expect_same(run.weights(), wanted, when);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(deaths, 200u);
}

TEST(ShardKeeperRuns, LoseNoUpdateOfReplicasThatDoNotWait) {
  for (const auto* policy : {"async", "ssp:1"})
    for (int after = 0; after < 160; after += 3) {
      SteppedRun run(policy);
      for (int i = 0; i < after && run.step(); ++i) {
      }
      run.kill_now(run.primary(after % kShards));
      run.finish();
      EXPECT_EQ(run.failure, "") << policy << ' ' << after;
      EXPECT_EQ(run.done, kReplicas) << policy << ' ' << after;
      for (std::size_t shard = 0; shard < kShards; ++shard)
        EXPECT_EQ(run.version(shard), kReplicas * kBatches) << policy << ' ' << after;
    }
}

TEST(ShardKeeperRuns, LeaveOutWhatIsNotFiniteAlsoWhenOnlyTheCopyIsLeftToSaySo) {
  constexpr std::uint64_t kPoisoned = 0;
  SteppedRun undisturbed("sync", 0, false, kPoisoned);
  undisturbed.finish();
  ASSERT_EQ(undisturbed.done, kReplicas) << undisturbed.failure;
  const auto wanted = undisturbed.weights();
  int moments = 0;
  for (bool goes_on = true; goes_on && !::testing::Test::HasFailure(); ++moments) {
    SteppedRun run("sync", 0, true, kPoisoned);
    for (int i = 0; goes_on && i < moments; ++i) goes_on = run.step();
    run.kill_now(run.primary(0));
    run.finish();
    const auto when = text("killed after ", moments, " messages");
    EXPECT_EQ(run.failure, "") << when;
    EXPECT_EQ(run.done, kReplicas) << when;
    expect_same(run.weights(), wanted, when);
  }
  EXPECT_GT(moments, 80);
}

TEST(ShardKeeperRuns, SayWhoDied) {
  SteppedRun run("sync");
  for (int i = 0; i < 60; ++i) run.step();
  run.kill_now(run.primary(1));
  run.finish();
  ASSERT_EQ(run.reports->events.size(), 1u);
  EXPECT_THAT(run.reports->events[0].message,
              AllOf(HasSubstr("shard 1 died"), HasSubstr("its copy has taken its place")));
  EXPECT_EQ(run.done, kReplicas);
}

}  // namespace
}  // namespace troupe
