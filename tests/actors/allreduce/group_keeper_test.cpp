#include "troupe/actors/allreduce/group_keeper.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "support/actor_test.h"
#include "support/fake_actors.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/training/feeder.h"
#include "troupe/actors/training/replica.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint32_t kMembers = 3;
constexpr std::uint64_t kBatches = 4;  // of one row for each of them

/// Gradients that depend on all variables: an update that is lost, made twice or made of other
/// sets gives other values.
test::FakeRun gradients(const TensorList& feeds) {
  const auto x = feeds.at(0).read<float>()[0];
  const auto a = static_cast<float>(feeds.at(1).item());
  const auto b = static_cast<float>(feeds.at(2).item());
  return {{Tensor::scalar(a + b)},
          {Tensor::of<float>({1}, {x * b + 0.3f * a}), Tensor::of<float>({1}, {x - 0.7f * a * b})},
          {}};
}

Queue::behavior_type numbers_queue(Queue::pointer, std::uint64_t batches) {
  const auto given = std::make_shared<std::uint64_t>(0);
  return {
      [](enqueue_atom, const ElementBlock&, const EnqueueOptions&) { return caf::ok_atom_v; },
      [=](dequeue_atom, const DequeueRequest& request) -> caf::result<Batch> {
        if (*given == batches) return fault(Code::out_of_range, "end of data");
        auto values = Tensor::uninitialized(DType::float32, {request.count});
        for (std::int64_t i = 0; i < request.count; ++i)
          values.write<float>()[i] = 0.1f * static_cast<float>(*given * kMembers + i + 1);
        return Batch{(*given)++, {values}};
      },
      [](expect_atom, const std::string&, const caf::actor&) {},
      [](attach_atom) { return caf::ok_atom_v; },
      [](detach_atom, const CloseReason&) { return caf::ok_atom_v; },
      [](caf::close_atom, const CloseRequest&) { return caf::ok_atom_v; },
      [](status_atom) { return QueueStatus{}; },
  };
}

/// Starts replicas, and others in the place of those that die before they are done.
struct Starter {
  std::function<Replica(std::uint32_t)> make;
  Coordinator coordinator;
  SavingFeeder feeder;
  GroupKeeper keeper;
  std::map<std::uint32_t, Shard> shards;  ///< by number of the replica whose own it is
  std::uint32_t next = 0;                 ///< number
  std::set<std::uint32_t> leaving;
  std::uint32_t started = 0;
  std::uint32_t done = 0;
  std::uint32_t restarts = 0;
  std::string failure;
  std::map<std::uint32_t, Replica> here;
};

void start_one(caf::event_based_actor* self, const std::shared_ptr<Starter>& s, std::uint32_t i) {
  const auto replica = s->here[i] = s->make(i);
  self->monitor(replica);
  self->send(s->coordinator, expect_atom_v, i, replica);
  self->request(replica, caf::infinite, start_atom_v)
      .then(
          [=](std::uint64_t) {
            ++s->done;
            s->here.erase(i);
            self->send(s->coordinator, leave_atom_v, std::uint32_t{0}, i, replica.address());
            if (s->leaving.count(i) > 0) self->send(s->keeper, leave_atom_v, i);
          },
          [=](const caf::error& error) {
            if (error.category() == caf::atom("troupe")) s->failure = render(error);
          });
}

caf::behavior starter(caf::event_based_actor* self, std::shared_ptr<Starter> s) {
  self->monitor(s->coordinator);
  self->monitor(s->keeper);
  self->set_down_handler([=](const caf::down_msg& down) {
    if (down.source == s->coordinator.address() || down.source == s->keeper.address())
      s->failure = render(down.reason);
    for (const auto& [i, replica] : s->here) {
      if (replica.address() != down.source) continue;
      ++s->restarts;
      self->request(s->feeder, caf::infinite, ledger_atom_v, i, down.source)
          .then([self, s, i = i](const LedgerStatus&) { start_one(self, s, i); });
    }
  });
  const auto start_next = [=](std::uint32_t i) {
    ++s->started;
    start_one(self, s, i);
  };
  for (; s->next < kMembers; ++s->next) start_next(s->next);
  return {[=](join_atom) {
            const auto i = s->next++;
            self->request(s->keeper, caf::infinite, join_atom_v, i).then([=](const Shard& own) {
              s->shards[i] = own;
              if (!s->here.empty()) start_next(i);
            });
          },
          [=](leave_atom, std::uint32_t i) {
            const auto stays = [&](const auto& one) { return s->leaving.count(one.first) == 0; };
            if (std::count_if(s->here.begin(), s->here.end(), stays) < 2 || s->here.count(i) == 0)
              return;
            s->leaving.insert(i);
            self->send(s->feeder, detach_atom_v, i);
          }};
}

enum class Victim { shard, reducer, replica, all };
constexpr std::array kVictims{Victim::shard, Victim::reducer, Victim::replica, Victim::all};

std::string name_of(Victim victim) {
  return std::array{"shard", "reducer", "replica", "all"}[static_cast<std::size_t>(victim)];
}

/// A training run that moves when it is told, one message after the other.
class SteppedGroup : public test::ActorTest {
 public:
  /// Those of a run that is not deterministic may come and go.
  explicit SteppedGroup(AllReduce kind, double clip_norm = 0, std::uint64_t batches = kBatches,
                        bool deterministic = true) {
    CoordinatorOptions c;
    c.aggregation.clip_norm = clip_norm;
    c.shards = c.replicas = kMembers;
    c.all_reduce = c.replaces_lost = true;
    c.deterministic = deterministic;
    c.listener = spawn(test::report_keeper, reports);
    coordinator_ = spawn(coordinator, c);
    FeederOptions f;
    f.queue = spawn(numbers_queue, batches);
    f.batch = f.replicas = kMembers;
    f.split = true;
    feeder_ = spawn(feeder, f);
    caf::anon_send(coordinator_, assign_atom_v, caf::actor_cast<Feeder>(feeder_));
    GroupKeeperOptions k;
    k.kind = kind;
    k.coordinator = coordinator_;
    k.listener = c.listener;
    k.enter = [this](const std::string& name, const caf::actor& actor) { entered[name] = actor; };
    std::vector<ReductionPort> ports;
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      ShardOptions o;
      o.index = i;
      o.variables = {{"a", Tensor::of<float>({1}, {1.5f}), true},
                     {"b", Tensor::of<float>({1}, {1.5f}), true}};
      o.optimizer = optim::momentum(0.9);
      o.schedule = 0.01;
      o.coordinator = coordinator_;
      o.reducer = spawn(reducer, ReducerOptions{kind, "all-reduce"});
      o.parts = {{"a", PartKind::gradient}, {"b", PartKind::gradient}};
      ports.push_back(o.reducer);
      k.members.push_back({spawn(parameter_shard, o, SnapshotSink()), o});
    }
    for (auto& member : k.members) {
      ask<caf::ok_atom>(member.options.reducer, join_atom_v, ports);
      for (auto& variable : member.options.variables) variable.initial = Tensor();
    }
    keeper_ = spawn(group_keeper, k);
    ReplicaOptions r;
    r.keeper = keeper_;
    r.batches = feeder_;
    r.fragment.inputs = 1;
    r.fragment.variables = {"a", "b"};
    r.fragment.parts = {{"a", PartKind::gradient, false}, {"b", PartKind::gradient, false}};
    r.fragment.values = {"loss"};
    r.device = spawn(test::fake_device, test::FakeKernel(gradients), false);
    r.listener = c.listener;
    replicas->coordinator = coordinator_;
    replicas->feeder = feeder_;
    replicas->keeper = keeper_;
    for (const auto& member : k.members) replicas->shards[member.options.index] = member.shard;
    replicas->make = [this, r](std::uint32_t i) {
      auto options = r;
      options.index = i;
      options.shards = {replicas->shards.at(i)};
      made_.push_back(system.spawn(replica, options));
      return made_.back();
    };
    starter_ = system.spawn(starter, replicas);
  }
  ~SteppedGroup() override {
    // They hold one another.
    replicas->here.clear();
    replicas->make = {};
    replicas->keeper = GroupKeeper();
    replicas->shards.clear();
    entered.clear();
    for (const auto& one : made_) caf::anon_send_exit(one, caf::exit_reason::kill);
    for (const auto& one :
         {caf::actor_cast<caf::actor>(keeper_), starter_, caf::actor_cast<caf::actor>(feeder_)})
      caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
  }
  void TestBody() override {}

  bool step() { return scheduler().try_run_once(); }
  /// Whose turn it is, chance decides.
  bool step(RandomStream& random) {
    auto& jobs = scheduler().jobs;
    if (jobs.empty()) return false;
    const auto chosen = jobs.begin() + static_cast<std::ptrdiff_t>(random.below(jobs.size()));
    std::rotate(jobs.begin(), chosen, chosen + 1);
    return step();
  }
  void finish() { settle(); }
  void finish(RandomStream& random) {
    do {
      while (step(random)) {
      }
    } while (scheduler().has_pending_timeout() && scheduler().trigger_timeout());
  }

  GroupKeeperState::Member& member(std::uint32_t i) { return keeper().members.at(i); }
  std::vector<std::uint32_t> members() {
    std::vector<std::uint32_t> numbers;
    for (const auto& [i, member] : keeper().members) numbers.push_back(i);
    return numbers;
  }
  /// Its shard and its reducer take part.
  bool is_well(std::uint32_t i) {
    return !member(i).lost && !member(i).leaves && killed_.count(member(i).shard.address()) == 0 &&
           killed_.count(caf::actor_cast<caf::actor_addr>(member(i).reducer)) == 0;
  }
  void kill_now(Victim victim, std::uint32_t i) {
    const auto kill = [&](const auto& who) {
      killed_.insert(caf::actor_cast<caf::actor_addr>(who));
      caf::anon_send_exit(who, caf::exit_reason::kill);
    };
    const auto replica = replicas->here.find(i);
    if ((victim == Victim::replica || victim == Victim::all) && replica != replicas->here.end())
      kill(replica->second);
    if (victim == Victim::reducer || victim == Victim::all) kill(member(i).reducer);
    if (victim == Victim::shard || victim == Victim::all) kill(member(i).shard);
  }
  void add_now() { caf::anon_send(starter_, join_atom_v); }
  void remove_now(std::uint32_t i) { caf::anon_send(starter_, leave_atom_v, i); }
  TensorList weights(std::uint32_t i) {
    TensorList all;
    const auto snapshot = ask<ShardSnapshot>(member(i).shard, snapshot_atom_v);
    if (!snapshot->value) return all;
    for (const auto& saved : snapshot->value->tensors) all.push_back(saved.values);
    return all;
  }
  std::int64_t trained() { return ask<LedgerStatus>(feeder_, ledger_atom_v)->value->trained; }

  std::shared_ptr<Starter> replicas = std::make_shared<Starter>();
  std::map<std::string, caf::actor> entered;
  std::shared_ptr<test::Reports> reports = std::make_shared<test::Reports>();

 private:
  GroupKeeperState& keeper() {
    auto* actor = caf::actor_cast<caf::abstract_actor*>(keeper_);
    return dynamic_cast<GroupKeeper::stateful_pointer<GroupKeeperState>>(actor)->state;
  }

  SavingCoordinator coordinator_;
  SavingFeeder feeder_;
  GroupKeeper keeper_;
  caf::actor starter_;
  std::vector<Replica> made_;
  std::set<caf::actor_addr> killed_;
};

void expect_as_undisturbed(SteppedGroup& run, const TensorList& wanted, const std::string& when) {
  EXPECT_EQ(run.replicas->failure, "") << when;
  EXPECT_EQ(run.replicas->done, kMembers) << when;
  EXPECT_EQ(run.trained(), static_cast<std::int64_t>(kBatches * kMembers)) << when;
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    const auto weights = run.weights(i);
    ASSERT_EQ(weights.size(), wanted.size()) << when;
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT_TRUE(same_bits(weights[k], wanted[k])) << when << ", shard " << i << ", tensor " << k;
  }
}

class AGroupKeeper : public ::testing::TestWithParam<std::pair<AllReduce, double>> {
 protected:
  static SteppedGroup made() { return SteppedGroup(GetParam().first, GetParam().second); }
  static TensorList undisturbed() {
    auto run = made();
    run.finish();
    EXPECT_EQ(run.replicas->done, kMembers);
    return run.weights(0);
  }
};

TEST_P(AGroupKeeper, LetsARunEndWithTheSameBitsWhoeverIsKilledWhen) {
  const auto wanted = undisturbed();
  for (const auto victim : kVictims)
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      bool goes_on = true;
      int moment = 0;
      for (; goes_on && !HasFailure(); ++moment) {
        auto run = made();
        for (int k = 0; goes_on && k < moment; ++k) goes_on = run.step();
        run.kill_now(victim, i);
        run.finish();
        expect_as_undisturbed(run, wanted,
                              text(name_of(victim), ' ', i, " killed after ", moment, " messages"));
      }
      EXPECT_GT(moment, 150);
    }
}

TEST_P(AGroupKeeper, LetsARunEndWithTheSameBitsInWhateverOrderMessagesCome) {
  const auto wanted = undisturbed();
  std::uint32_t deaths = 0;
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    auto run = made();
    RandomStream random(seed);
    std::string history;
    for (auto wait = random.below(80); run.step(random);) {
      if (wait > 0) {
        --wait;
        continue;
      }
      const auto i = static_cast<std::uint32_t>(random.below(kMembers));
      const auto victim = kVictims[random.below(kVictims.size())];
      std::uint32_t others = 0;
      for (std::uint32_t k = 0; k < kMembers; ++k) others += k != i && run.is_well(k) ? 1 : 0;
      if (others == 0 || !run.is_well(i)) continue;  // somebody must be left
      run.kill_now(victim, i);
      history += text(' ', name_of(victim), i);
      ++deaths;
      wait = 20 + random.below(120);
    }
    run.finish(random);
    expect_as_undisturbed(run, wanted, text("seed ", seed, ":", history));
  }
  EXPECT_GT(deaths, 600U);
}

TEST_P(AGroupKeeper, HasTheSameInAllShardsAndEachRecordOnceWhoeverComesAndGoes) {
  constexpr std::uint64_t kMore = 12;
  std::uint32_t came = 0;
  std::uint32_t gone = 0;
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SteppedGroup run(GetParam().first, GetParam().second, kMore, false);
    RandomStream random(seed);
    std::string history;
    for (auto wait = random.below(80); run.step(random);) {
      if (wait > 0) {
        --wait;
        continue;
      }
      const auto members = run.members();
      const auto i = members[random.below(members.size())];
      const auto is_well = [&](auto k) { return k != i && run.is_well(k); };
      const auto what = random.below(8);
      if (what < 3) {
        if (members.size() > 5) continue;
        run.add_now();
        history += " add";
      } else if (what < 6) {
        run.remove_now(i);
        history += text(" remove", i);
      } else {
        if (!run.is_well(i) || std::none_of(members.begin(), members.end(), is_well)) continue;
        const auto victim = kVictims[random.below(kVictims.size())];
        run.kill_now(victim, i);
        history += text(' ', name_of(victim), i);
      }
      wait = 20 + random.below(120);
    }
    run.finish(random);
    const auto when = text("seed ", seed, ":", history);
    EXPECT_EQ(run.replicas->failure, "") << when;
    EXPECT_EQ(run.replicas->done, run.replicas->started) << when;
    EXPECT_EQ(run.trained(), static_cast<std::int64_t>(kMore * kMembers)) << when;
    const auto wanted = run.weights(0);
    for (const auto i : run.members()) {
      const auto weights = run.weights(i);
      ASSERT_EQ(weights.size(), wanted.size()) << when;
      for (std::size_t k = 0; k < wanted.size(); ++k)
        EXPECT_TRUE(same_bits(weights[k], wanted[k])) << when << ", shard " << i;
    }
    for (const auto i : run.replicas->leaving)
      EXPECT_TRUE(i == 0 || !::testing::Matches(::testing::Contains(i))(run.members())) << when;
    came += run.replicas->started - kMembers;
    gone += static_cast<std::uint32_t>(run.replicas->leaving.size());
  }
  EXPECT_GT(came, 200U);
  EXPECT_GT(gone, 200U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, AGroupKeeper,
                         ::testing::Values(std::pair(AllReduce::ring, 0.0),
                                           std::pair(AllReduce::ring, 0.5),
                                           std::pair(AllReduce::tree, 0.0)),
                         [](const auto& info) {
                           return std::string(to_string(info.param.first)) +
                                  (info.param.second > 0 ? "Clipped" : "");
                         });

TEST(GroupKeeperRuns, SayWhoDied) {
  SteppedGroup run(AllReduce::ring);
  for (int i = 0; i < 60; ++i) run.step();
  run.kill_now(Victim::reducer, 1);
  run.finish();
  ASSERT_FALSE(run.reports->events.empty());
  EXPECT_THAT(run.reports->events[0].message,
              AllOf(HasSubstr("reducer 1 died"), HasSubstr("gets what the others have")));
  EXPECT_EQ(run.replicas->restarts, 1U);
}

TEST(GroupKeeperRuns, SayWhoTakesThePlaceOfWhom) {
  SteppedGroup run(AllReduce::ring);
  for (int i = 0; i < 60; ++i) run.step();
  run.kill_now(Victim::shard, 1);
  run.finish();
  EXPECT_EQ(run.entered.size(), 2U);
  EXPECT_EQ(run.entered["shard 1"], caf::actor_cast<caf::actor>(run.member(1).shard));
  EXPECT_EQ(run.entered["reducer 1"], caf::actor_cast<caf::actor>(run.member(1).reducer));
}

}  // namespace
}  // namespace troupe
