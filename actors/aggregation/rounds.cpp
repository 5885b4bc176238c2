#include "troupe/actors/aggregation/rounds.h"

#include <algorithm>
#include <tuple>

#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/ops/error.h"

namespace troupe {

Rounds::Rounds(RoundsOptions options)
    : options_(std::move(options)), policy_text_(options_.policy), policy_(made(policy_text_)) {}

std::shared_ptr<const AggregationPolicy> Rounds::made(const std::string& policy) const {
  std::shared_ptr<const AggregationPolicy> result = make_policy(policy);
  result->expect_fits(options_.replicas);
  if (options_.deterministic && options_.replicas > 1 && !result->whole_rounds())
    fail(Code::invalid_argument, "policy '", policy,
         "' depends on timing, so that it cannot be deterministic with ", options_.replicas,
         " replicas");
  if (options_.accumulate > 1 && result->local_steps() > 0)
    fail(Code::invalid_argument, "policy '", policy, "' pushes parameters, so that gradients of ",
         options_.accumulate, " batches cannot be accumulated");
  if (!options_.table.empty() && result->local_steps() > 0)
    fail(Code::invalid_argument, "policy '", policy,
         "' needs all parameters at every replica, but '", options_.table,
         "' is pulled by rows (TrainingOptions::tables)");
  return result;
}

// ---- who takes part --------------------------------------------------------------------------

void Rounds::restore(const AggregationStatus& status) {
  updates_ = status.updates;
  clipped_ = status.clipped;
  for (const auto& standing : status.replicas) {
    standings_[standing.replica] = standing;
    standings_[standing.replica].takes_part = false;
    clocks_[standing.replica] = standing.clock;
  }
}

void Rounds::give_up_sets(std::uint32_t replica, std::optional<std::uint64_t> step) {
  std::erase_if(sets_, [&](const Waiting& set) {
    if (set.commit.replica != replica || (step && set.commit.step != *step)) return false;
    refused_.push_back({replica, set.commit.step, SetFate::given_up});
    settle(set.commit, SetFate::given_up);
    return true;
  });
}

void Rounds::join(std::uint32_t replica) {
  give_up_sets(replica);
  const auto slowest = view().slowest(0);
  auto& m = members_[replica];
  auto clock = m.lost ? m.clock : slowest;
  if (const auto before = clocks_.extract(replica)) clock = before.mapped();
  m = {};
  m.clock = clock;
  auto& standing = standings_[replica];
  standing.replica = replica;
  standing.takes_part = true;
  started_ = started_ || members_.size() >= options_.replicas;
}

void Rounds::lose(std::uint32_t replica) {
  const auto found = members_.find(replica);
  if (found == members_.end()) return;
  if (!started_ || !policy_->whole_rounds()) return leave(replica);
  found->second.lost = true;
  standings_[replica].takes_part = false;
  departed_.push_back(replica);
}

void Rounds::give_up_lost() {
  for (const auto& [replica, m] : std::map(members_))
    if (m.lost) leave(replica);
}

bool Rounds::takes_part(std::uint32_t replica) const {
  const auto found = members_.find(replica);
  return found != members_.end() && !found->second.lost;
}

void Rounds::leave(std::uint32_t replica) {
  const auto found = members_.find(replica);
  if (found == members_.end()) return;
  auto& standing = standings_[replica];
  standing.takes_part = false;
  standing.clock = found->second.clock;
  members_.erase(found);
  departed_.push_back(replica);
}

std::vector<std::uint32_t> Rounds::not_joined() const {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < options_.replicas; ++i)
    if (members_.count(i) == 0) missing.push_back(i);
  return missing;
}

void Rounds::add(const GradientCommit& commit) {
  sets_.push_back({commit});
  const auto found = members_.find(commit.replica);
  if (found == members_.end()) return;
  found->second.computing = found->second.late = found->second.doomed = false;
}

void Rounds::settle(const GradientCommit& commit, SetFate fate) {
  settled_.push_back({commit.replica, commit.order, commit.batches, fate});
}

void Rounds::refuse(const GradientCommit& commit, SetFate fate, Code code, std::string message) {
  const auto found = members_.find(commit.replica);
  if (found != members_.end() && !found->second.lost) {
    auto& m = found->second;
    m.computing = m.late = m.doomed = false;
    if (fate == SetFate::skipped) ++m.clock;
    auto& standing = standings_[commit.replica];
    ++(fate == SetFate::skipped ? standing.skipped : standing.stale);
  }
  refused_.push_back({commit.replica, commit.step, fate, 0, code, std::move(message)});
  // A set that is the failure of its replica has never been.
  if (code == Code::ok) settle(commit, fate);
}

bool Rounds::has(std::uint32_t replica, std::uint64_t step) const {
  return std::any_of(sets_.begin(), sets_.end(), [&](const Waiting& set) {
    return set.commit.replica == replica && set.commit.step == step;
  });
}

std::vector<SettledSet> Rounds::undecided(std::uint32_t replica) const {
  std::vector<SettledSet> sets;
  for (const auto& [commit, factor] : sets_)
    if (commit.replica == replica) sets.push_back({replica, commit.order, commit.batches});
  return sets;
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> Rounds::waited_for() const {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> culprits;
  if (waiting().empty()) return culprits;
  const auto slowest = view().slowest(0);
  for (const auto& [replica, m] : members_)
    if (m.computing && !m.late && (!policy_->single_sets() || m.clock == slowest))
      culprits.emplace_back(replica, m.clock);
  return culprits;
}

std::vector<std::uint32_t> Rounds::waiting() const {
  std::vector<std::uint32_t> who;
  for (const auto& [replica, m] : members_)
    if (!m.computing && !m.finished) who.push_back(replica);
  return who;
}

void Rounds::miss_deadline(std::uint32_t replica, bool leave_out) {
  const auto found = members_.find(replica);
  if (found == members_.end()) return;
  ++standings_[replica].late;
  if (leave_out) found->second.late = true;
}

// ---- decisions -------------------------------------------------------------------------------

RoundView Rounds::view() const {
  RoundView view;
  view.version = version_;
  view.replicas = options_.replicas;
  for (const auto& set : sets_)
    view.sets.push_back(
        {set.commit.replica, set.commit.version, set.commit.weight, set.commit.order});
  for (const auto& [replica, m] : members_)
    view.members.push_back({replica, m.clock, m.version, m.computing, m.late});
  return view;
}

std::uint64_t Rounds::staleness(const GradientCommit& commit) const {
  return version_ - std::min(version_, commit.version);
}

void Rounds::refuse_stale(RoundDecision& decision) {
  if (sets_.empty()) return;
  const auto now = view();
  std::vector<Waiting> kept;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    auto& set = sets_[i];
    const auto admission = over() ? Admission{false, 1} : policy_->admit(now.sets[i], now);
    if (admission.take) {
      set.factor = admission.factor;
      kept.push_back(set);
      continue;
    }
    const auto& commit = set.commit;
    if (options_.is_group && !over())
      fail(Code::failed_precondition, "policy '", policy_text_, "' has refused a set of replica ",
           commit.replica, ", but says that it takes every one (takes_every_set), which variables ",
           "with policies of their own rely on");
    const auto fate = stopped_ ? SetFate::given_up : SetFate::stale;
    settle(commit, fate);
    decision.refused.push_back({commit.replica, commit.step, fate, staleness(commit)});
    standings_[commit.replica].stale += stopped_ ? 0 : 1;
  }
  sets_ = std::move(kept);
}

void Rounds::take_round(RoundDecision& decision) {
  if (sets_.empty() || !started_) return;
  const auto round = policy_->round(view());
  if (!round || round->empty()) return;
  auto taken = *round;
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  if (taken.back() >= sets_.size())
    fail(Code::internal, "policy '", policy_text_, "' wants set ", taken.back(), " of ",
         sets_.size(), " that wait");
  std::vector<Waiting> members;
  for (const auto at : taken) members.push_back(sets_[at]);
  for (auto at = taken.rbegin(); at != taken.rend(); ++at)
    sets_.erase(sets_.begin() + static_cast<std::ptrdiff_t>(*at));
  if (options_.deterministic)
    std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return std::tie(a.commit.order, a.commit.replica) <
             std::tie(b.commit.order, b.commit.replica);
    });
  double total = 0;
  for (const auto& set : members) total += std::max(0.0, set.commit.weight);
  for (const auto& [commit, factor] : members) {
    const auto behind = staleness(commit);
    const auto share = total > 0 ? std::max(0.0, commit.weight) / total * factor : 0;
    decision.members.push_back({commit.replica, commit.step, share, behind});
    settle(commit, SetFate::applied);
    if (total > 0)
      decision.updates = std::max<std::uint64_t>(decision.updates,
                                                 policy_->local_steps() > 0 ? commit.updates : 1);
    auto& standing = standings_[commit.replica];
    if (commit.weight > 0) standing.staleness.add(behind);
    const auto member = members_.find(commit.replica);
    if (member != members_.end()) ++member->second.clock;
  }
  if (policy_->local_steps() == 0) decision.clip_norm = options_.clip_norm;
  version_ += decision.updates;
  if (decision.updates > 0) ++updates_;
}

void Rounds::change_policy(const std::string& policy) {
  next_policy_ = made(policy);
  next_policy_text_ = policy;
}

/// Another policy begins when nobody is in a step: all sets were made, and are treated,
/// under the old one.
void Rounds::take_new_policy(RoundDecision& decision) {
  if (!next_policy_ || !sets_.empty()) return;
  for (const auto& [replica, m] : members_)
    if (m.computing) return;
  policy_ = std::exchange(next_policy_, nullptr);
  policy_text_ = next_policy_text_;
  decision.policy = policy_text_;
}

bool Rounds::may_begin(std::uint32_t replica, const RoundView& now) const {
  if (!started_) return false;
  if (next_policy_ && sets_.empty()) return false;
  if (options_.max_steps > 0 && policy_->single_sets()) {
    auto given_out = version_ + sets_.size();
    for (const auto& m : now.members) given_out += m.computing ? 1 : 0;
    if (given_out >= options_.max_steps) return false;
  }
  for (const auto& m : now.members)
    if (m.replica == replica) return policy_->may_go_on(m, now);
  return false;
}

Instructions Rounds::instructions() const {
  Instructions next;
  next.finished = over();
  next.accumulate = options_.accumulate;
  next.local_steps = policy_->local_steps();
  if (options_.max_steps > version_)
    next.local_steps = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(next.local_steps, options_.max_steps - version_));
  next.may_be_refused = options_.may_leave_out || !policy_->whole_rounds();
  return next;
}

void Rounds::release(RoundDecision& decision) {
  decision.next = instructions();
  if (options_.is_group) {
    decision.released = std::exchange(let_go_, {});
    return;
  }
  auto now = view();
  std::size_t at = 0;
  for (auto& [replica, m] : members_) {
    auto& seen = now.members[at++];
    if (m.computing || m.finished) continue;
    if (!over() && !may_begin(replica, now)) continue;
    m.finished = over();
    m.computing = seen.computing = !over();
    m.version = seen.version = version_;
    // The one that will take its place has joined shards perhaps, but not here.
    if (!m.lost) decision.released.push_back(replica);
  }
}

bool Rounds::may_let_go(std::uint32_t replica) const {
  const auto found = members_.find(replica);
  if (found == members_.end() || found->second.computing || found->second.finished) return false;
  return over() || may_begin(replica, view());
}

void Rounds::let_go(std::uint32_t replica, bool finished) {
  auto& m = members_.at(replica);
  m.finished = finished;
  m.computing = !finished;
  m.version = version_;
  let_go_.push_back(replica);
}

std::optional<RoundDecision> Rounds::next() {
  RoundDecision decision;
  decision.departed = std::exchange(departed_, {});
  decision.refused = std::exchange(refused_, {});
  refuse_stale(decision);
  take_round(decision);
  take_new_policy(decision);
  release(decision);
  if (decision.members.empty() && decision.refused.empty() && decision.departed.empty() &&
      decision.released.empty() && decision.policy.empty())
    return std::nullopt;
  return decision;
}

std::vector<std::uint32_t> Rounds::take_doomed() {
  std::vector<std::uint32_t> told;
  const auto now = view();
  for (auto& [replica, m] : members_) {
    if (!m.computing || m.doomed || m.lost || m.version == version_) continue;
    const SetInfo set{replica, m.version, 1, 0};
    if (!over() && policy_->admit(set, now).take) continue;
    m.doomed = true;
    told.push_back(replica);
  }
  return told;
}

AggregationStatus Rounds::status() const {
  AggregationStatus status{policy_text_, version_, updates_, clipped_, {}};
  for (const auto& [replica, standing] : standings_) {
    status.replicas.push_back(standing);
    const auto found = members_.find(replica);
    if (found != members_.end()) status.replicas.back().clock = found->second.clock;
  }
  return status;
}

}  // namespace troupe
