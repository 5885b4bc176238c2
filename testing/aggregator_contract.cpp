#include "troupe/testing/aggregator_contract.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/ops/error.h"
#include "troupe/testing/round_play.h"

namespace troupe::contract {
namespace {

template <class... Parts>
[[noreturn]] void broken(const Parts&... parts) {
  fail(Code::internal, parts...);
}

/// Whether a run that begins with so many replicas can have the policy.
bool fits(const std::string& policy, std::size_t replicas) {
  const auto made = make_policy(policy);
  try {
    made->expect_fits(replicas);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Plays with several numbers of replicas and several orders.
template <class Play>
void with_runs(const std::string& policy, Play play) {
  constexpr std::uint64_t kSeeds = 10;
  bool any = false;
  for (const std::size_t replicas : {1, 2, 3, 5})
    for (std::uint64_t seed = 1; fits(policy, replicas) && seed <= kSeeds; ++seed) {
      any = true;
      RoundPlay::Options o;
      o.policy = policy;
      o.replicas = replicas;
      o.seed = seed;
      try {
        play(o);
      } catch (const Error& error) {
        broken("with ", replicas, replicas == 1 ? " replica" : " replicas", " (order ", seed,
               "): ", error.what());
      }
    }
  if (!any) broken("it fits neither 1, 2, 3 nor 5 replicas (expect_fits)");
}

// ---- rounds ----------------------------------------------------------------------------------

void names_sets_that_wait(const std::string& policy) {
  // Views of all kinds, also such that hardly come about.
  RandomStream random(1);
  for (int i = 0; i < 2000; ++i) {
    RoundView view;
    view.version = random.below(20);
    view.replicas = 1 + random.below(5);
    if (!fits(policy, view.replicas)) continue;
    for (std::uint32_t r = 0; r < view.replicas; ++r)
      if (random.below(4) > 0)
        view.members.push_back({r, random.below(10), random.below(view.version + 1),
                                random.below(2) == 0, random.below(6) == 0});
    for (auto sets = random.below(6); sets > 0; --sets)
      view.sets.push_back({static_cast<std::uint32_t>(random.below(view.replicas)),
                           random.below(view.version + 1), static_cast<double>(random.below(3)),
                           random.below(100)});
    const auto made = make_policy(policy);
    const auto round = made->round(view);
    for (const auto& set : view.sets) made->admit(set, view);
    for (const auto& member : view.members) made->may_go_on(member, view);
    if (!round) continue;
    if (round->empty()) broken("round() gives an update of no set; none is std::nullopt");
    const std::set<std::size_t> different(round->begin(), round->end());
    if (different.size() < round->size()) broken("round() names a set twice");
    if (*different.rbegin() >= view.sets.size())
      broken("round() names set ", *different.rbegin(), " of ", view.sets.size());
  }
}

void never_stands_still(const std::string& policy) {
  with_runs(policy, [](RoundPlay::Options o) {
    o.batches = -1;
    RoundPlay play(o);
    constexpr int kSets = 500;
    for (int i = 0; i < kSets; ++i)
      if (!play.go_on()) broken("after ", i, " sets nobody goes on, and no update is made");
    if (play.rounds().version() == 0) broken("after ", kSets, " sets no update has been made");
  });
}

void trains_on_everything(const std::string& policy) {
  with_runs(policy, [](const RoundPlay::Options& o) {
    RoundPlay play(o);
    play.play_out();
    const auto all = static_cast<std::int64_t>(o.replicas) * o.batches;
    if (play.taking_part() > 0)
      broken(play.taking_part(), " of ", o.replicas,
             " replicas wait for ever; may_go_on() has to let them go on");
    if (play.trained() != all)
      broken(play.trained(), " of ", all,
             " sets have become part of an update by the end of the data");
  });
}

void goes_on_when_replicas_leave(const std::string& policy) {
  with_runs(policy, [](const RoundPlay::Options& o) {
    RoundPlay play(o);
    RandomStream random(o.seed);
    for (auto alive = o.replicas; alive > 1; --alive) {
      for (auto steps = random.below(10); steps > 0; --steps) play.go_on();
      const auto who = play.computing();
      if (who.empty()) break;
      play.kill(who[random.below(who.size())]);
    }
    play.play_out();
    const auto all = static_cast<std::int64_t>(o.replicas) * o.batches;
    if (play.taking_part() > 0) broken("a replica waits for ever after others have died");
    if (play.trained() + play.lost() != all)
      broken(all - play.trained() - play.lost(),
             " sets are neither part of an update nor lost with a replica that died");
  });
}

void takes_in_who_joins(const std::string& policy) {
  with_runs(policy, [](RoundPlay::Options o) {
    o.batches = -1;
    RoundPlay play(o);
    for (int i = 0; i < 20; ++i) play.go_on();
    const auto late = static_cast<std::uint32_t>(o.replicas);
    play.join(late, -1);
    const auto before = play.updates().size();
    for (int i = 0; i < 500; ++i)
      if (!play.go_on()) broken("nobody goes on after a replica has joined");
    const auto& all = play.updates();
    for (auto i = before; i < all.size(); ++i)
      if (std::count(all[i].begin(), all[i].end(), late) > 0) return;
    broken("no set of a replica that joined later was taken among 500");
  });
}

void keeps_to_the_last_step(const std::string& policy) {
  with_runs(policy, [](RoundPlay::Options o) {
    for (const std::uint64_t steps : {1u, 7u, 20u}) {
      o.batches = -1;
      o.max_steps = steps;
      RoundPlay play(o);
      play.play_out();
      if (play.rounds().version() != steps)
        broken("a run of ", steps, " steps makes ", play.rounds().version());
    }
  });
}

void says_what_its_rounds_are(const std::string& policy) {
  const auto made = make_policy(policy);
  with_runs(policy, [&](const RoundPlay::Options& o) {
    RoundPlay play(o);
    for (int i = 0; i < 1000 && play.taking_part() == o.replicas && play.go_on(); ++i) {
    }
    for (std::size_t i = 0; i + 1 < play.updates().size(); ++i) {
      const auto& members = play.updates()[i];
      const std::set<std::uint32_t> different(members.begin(), members.end());
      if (made->single_sets() && members.size() != 1)
        broken("an update has ", members.size(), " sets, but single_sets() says one");
      // The last ones may be those of fewer replicas.
      if (made->whole_rounds() && i + o.replicas < play.updates().size() &&
          (members.size() != o.replicas || different.size() != o.replicas))
        broken("an update has ", members.size(), " sets of ", different.size(), " of ", o.replicas,
               " replicas, but whole_rounds() says one of each");
    }
  });
}

void decides_the_same_again(const std::string& policy) {
  with_runs(policy, [](const RoundPlay::Options& o) {
    RoundPlay first(o), second(o);
    first.play_out();
    second.play_out();
    if (first.log() != second.log())
      broken("two runs in which the same happens are decided differently");
  });
}

void can_be_changed(const std::string& policy) {
  with_runs(policy, [&](const RoundPlay::Options& given) {
    for (const std::string other : {"sync", "async"})
      for (const bool from : {true, false}) {
        auto o = given;
        o.policy = from ? policy : other;
        RoundPlay play(o);
        for (int i = 0; i < 7; ++i) play.go_on();
        play.change_policy(from ? other : policy);
        for (int i = 0; i < 7; ++i) play.go_on();
        play.change_policy(o.policy);
        play.play_out();
        const auto all = static_cast<std::int64_t>(o.replicas) * o.batches;
        if (play.taking_part() > 0 || play.trained() != all)
          broken("changed for '", other, "' and back, ", play.trained(), " of ", all,
                 " sets are part of an update, and ", play.taking_part(), " replicas wait");
      }
  });
}

// ---- arithmetic ------------------------------------------------------------------------------

Tensor random_values(RandomStream& random, DType dtype, const Shape& shape) {
  Tensor values(DType::float64, shape);
  for (auto& value : values.write<double>()) value = random.normal();
  return values.cast(dtype);
}

void reduces_to_the_shape_of_the_variable(const std::string& policy) {
  const auto made = make_policy(policy);
  RandomStream random(1);
  for (const auto dtype : {DType::float32, DType::float64})
    for (const auto& shape : {Shape{}, Shape{1}, Shape{7, 3}, Shape{0}, Shape{100'000}})
      for (const std::size_t sets : {1, 2, 3, 5}) {
        TensorList gradients, before;
        for (std::size_t i = 0; i < sets; ++i) {
          gradients.push_back(random_values(random, dtype, shape));
          before.push_back(gradients.back().clone());
        }
        const std::vector<double> shares(sets, 1.0 / static_cast<double>(sets));
        const auto result = made->reduce(gradients, shares, serial());
        const auto what = text(sets, " gradients of ", dtype, ' ', shape);
        if (result.dtype() != dtype || !(result.shape() == shape))
          broken("reduce() makes ", result.dtype(), ' ', result.shape(), " of ", what);
        for (std::int64_t i = 0; i < result.size(); ++i)
          if (!std::isfinite(result.at(i)))
            broken("reduce() makes ", result.at(i), " of ", what, " that are finite");
        for (std::size_t i = 0; i < sets; ++i)
          if (!same_bits(gradients[i], before[i]))
            broken(
                "reduce() has written to what it was given: a tensor in a message belongs to "
                "others, too");
        if (!same_bits(result, make_policy(policy)->reduce(gradients, shares, serial())))
          broken("reduce() makes something else of the same ", what, " the second time");
      }
}

void has_only_options_that_it_knows(const std::string& policy) {
  const auto unknown =
      policy + (policy.find(':') == std::string::npos ? ':' : ',') + "no_such_option=1";
  try {
    make_policy(unknown);
  } catch (const Error&) {
    return;
  }
  broken("'", unknown,
         "' is taken: the function that makes the policy has to ask the OptionMap "
         "it is given, and nothing else, for options");
}

}  // namespace

const std::vector<AggregatorClause>& aggregator_clauses() {
  static const std::vector<AggregatorClause> clauses{
      {"NamesSetsThatWait", "round() names each set of an update once, and only such that wait",
       names_sets_that_wait},
      {"NeverStandsStill", "as long as replicas bring sets, updates are made and replicas go on",
       never_stands_still},
      {"TrainsOnEverything", "every set becomes part of an update, those of the last replicas too",
       trains_on_everything},
      {"GoesOnWhenReplicasLeave", "nobody waits for a replica that has left or died",
       goes_on_when_replicas_leave},
      {"TakesInWhoJoins", "the sets of a replica that joins later count as any others",
       takes_in_who_joins},
      {"KeepsToTheLastStep", "a run of n steps makes n updates, and everybody is told that it ends",
       keeps_to_the_last_step},
      {"SaysWhatItsRoundsAre", "updates are what whole_rounds() and single_sets() say",
       says_what_its_rounds_are},
      {"DecidesTheSameAgain", "what is decided depends on what has happened, and on nothing else",
       decides_the_same_again},
      {"CanBeChanged",
       "it can take over from another policy in the middle of a run, and the other "
       "way round",
       can_be_changed},
      {"ReducesToTheShapeOfTheVariable",
       "reduce() makes one finite tensor of the same dtype and shape, always the same one, and "
       "leaves what it is given as it is",
       reduces_to_the_shape_of_the_variable},
      {"HasOnlyOptionsThatItKnows", "an option that it does not know is an error",
       has_only_options_that_it_knows},
  };
  return clauses;
}

std::ostream& operator<<(std::ostream& out, const AggregatorClause& clause) {
  return out << clause.name;
}

Outcome check(const AggregatorClause& clause, const AggregatorSubject& policy) {
  Outcome outcome;
  try {
    clause.check(policy);
  } catch (const std::exception& error) {
    outcome.failures.emplace_back(error.what());
  }
  return outcome;
}

std::vector<std::string> check_aggregator(const AggregatorSubject& policy) {
  std::vector<std::string> failures;
  for (const auto& clause : aggregator_clauses())
    for (const auto& failure : check(clause, policy).failures)
      failures.push_back(text(clause.name, ": ", failure));
  return failures;
}

}  // namespace troupe::contract
