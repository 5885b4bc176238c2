#include "troupe/testing/round_play.h"

#include "troupe/ops/error.h"

namespace troupe::contract {
namespace {

RoundsOptions options_for(const RoundPlay::Options& o) {
  RoundsOptions rounds;
  rounds.policy = o.policy;
  rounds.replicas = o.replicas;
  rounds.max_steps = o.max_steps;
  return rounds;
}

}  // namespace

RoundPlay::RoundPlay(const Options& o) : rounds_(options_for(o)), random_(o.seed) {
  for (std::uint32_t i = 0; i < o.replicas; ++i) {
    replicas_[i].batches = o.batches;
    rounds_.join(i);
  }
  settle();
}

void RoundPlay::join(std::uint32_t replica, std::int64_t batches) {
  replicas_[replica] = {};
  replicas_[replica].batches = batches;
  rounds_.join(replica);
  settle();
}

void RoundPlay::kill(std::uint32_t replica) {
  if (replicas_.at(replica).computing) ++lost_;
  if (replicas_.at(replica).batches > 0) lost_ += replicas_.at(replica).batches;
  replicas_.erase(replica);
  rounds_.leave(replica);
  settle();
}

void RoundPlay::change_policy(const std::string& policy) {
  rounds_.change_policy(policy);
  settle();
}

std::int64_t RoundPlay::left() const {
  std::int64_t sum = 0;
  for (const auto& [number, r] : replicas_) sum += r.batches;
  return sum;
}

std::vector<std::uint32_t> RoundPlay::computing() const {
  std::vector<std::uint32_t> who;
  for (const auto& [number, r] : replicas_)
    if (r.computing) who.push_back(number);
  return who;
}

bool RoundPlay::go_on() {
  const auto who = computing();
  if (who.empty()) return false;
  const auto number = who[random_.below(who.size())];
  auto& r = replicas_.at(number);
  r.computing = false;
  const auto weight = static_cast<double>(1 + random_.below(3));
  rounds_.add({number, ++r.steps, r.version, weight, order_++, r.updates});
  settle();
  return true;
}

void RoundPlay::play_out(int most) {
  for (int i = 0; go_on(); ++i)
    if (i == most) fail(Code::internal, "the run does not come to an end");
}

/// It was told that what it computes comes too late.
void RoundPlay::give_up(std::uint32_t replica) {
  auto& r = replicas_.at(replica);
  if (!r.computing || random_.below(2) == 0) return;  // it was done already
  r.computing = false;
  GradientCommit commit;
  commit.replica = replica;
  commit.step = ++r.steps;
  commit.given_up = true;
  rounds_.refuse(commit, SetFate::given_up);
}

void RoundPlay::take(const RoundDecision& decision) {
  std::vector<std::uint32_t> members;
  for (const auto& m : decision.members) {
    ++trained_;
    members.push_back(m.replica);
    log_ += text("take ", m.replica, " ", m.step, " ", m.share, '\n');
  }
  if (!members.empty()) updates_.push_back(std::move(members));
  for (const auto& refusal : decision.refused) {
    log_ += text("refuse ", refusal.replica, " ", refusal.step, '\n');
    const auto found = replicas_.find(refusal.replica);
    if (found == replicas_.end())
      ++lost_;
    else if (found->second.batches >= 0)
      ++found->second.batches;
  }
  for (const auto number : decision.released) {
    log_ += text("release ", number, '\n');
    const auto found = replicas_.find(number);
    if (found == replicas_.end()) continue;
    auto& r = found->second;
    r.version = rounds_.version();
    r.updates = std::max(1u, decision.next.local_steps);
    r.dry = decision.next.finished || r.batches == 0;
    if (r.dry) continue;
    r.computing = true;
    if (r.batches > 0) --r.batches;
  }
}

void RoundPlay::settle() {
  for (bool more = true; more;) {
    more = false;
    while (const auto decision = rounds_.next()) {
      take(*decision);
      more = true;
    }
    for (const auto replica : rounds_.take_doomed())
      if (replicas_.count(replica) > 0) give_up(replica), more = true;
    for (auto i = replicas_.begin(); i != replicas_.end();) {
      if (!i->second.dry) {
        ++i;
        continue;
      }
      rounds_.leave(i->first);
      i = replicas_.erase(i);
      more = true;
    }
  }
}

}  // namespace troupe::contract
