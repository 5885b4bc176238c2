#include "troupe/actors/training/batch_ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

void BatchLedger::add(std::uint32_t replica, Batch batch) {
  accounts_[replica].waiting.push_back({std::move(batch)});
}

std::optional<Batch> BatchLedger::take_unclaimed() {
  if (unclaimed_.empty()) return std::nullopt;
  auto batch = std::move(unclaimed_.front());
  unclaimed_.pop_front();
  return batch;
}

std::optional<Batch> BatchLedger::hand_out(std::uint32_t replica) {
  auto& account = accounts_[replica];
  if (account.waiting.empty()) return std::nullopt;
  account.handed_out.push_back(std::move(account.waiting.front()));
  account.waiting.pop_front();
  const auto& entry = account.handed_out.back();
  if (entry.again) totals_.repeated += entry.batch.rows();
  return entry.batch;
}

bool BatchLedger::undecided(std::uint32_t replica) const {
  const auto found = accounts_.find(replica);
  return found != accounts_.end() && found->second.left_behind > 0;
}

/// A replica computes in the order in which it was given, so the first of that number is it.
std::deque<BatchLedger::Entry>::iterator BatchLedger::first_of(Account& account,
                                                               const SettledSet& set) {
  return std::find_if(account.handed_out.begin(), account.handed_out.end(),
                      [&](const Entry& entry) { return entry.batch.sequence == set.first; });
}

/// Puts them in front of what waits.
void BatchLedger::give_back(Account& account, std::vector<Entry> returned) {
  for (auto entry = returned.rbegin(); entry != returned.rend(); ++entry)
    account.waiting.push_front({std::move(entry->batch), false, true});
}

void BatchLedger::settle(const SettledSet& set) {
  const auto found = accounts_.find(set.replica);
  if (found == accounts_.end()) return;
  auto& account = found->second;
  const auto begin = first_of(account, set);
  const auto left = std::distance(begin, account.handed_out.end());
  const auto end = begin + std::min<std::ptrdiff_t>(set.batches, left);
  const bool again = set.fate == SetFate::stale || set.fate == SetFate::given_up;
  // One that lives computes again what it has.
  if (again && begin != end && !begin->left_behind) return;
  std::vector<Entry> returned;
  for (auto entry = begin; entry != end; ++entry) {
    account.left_behind -= entry->left_behind ? 1 : 0;
    if (again)
      returned.push_back(std::move(*entry));
    else
      (set.fate == SetFate::applied ? totals_.trained : totals_.lost) += entry->batch.rows();
  }
  account.handed_out.erase(begin, end);
  give_back(account, std::move(returned));
}

void BatchLedger::settle(const Settlement& settlement) {
  totals_.version = std::max(totals_.version, settlement.version);
  // From the back: of several that come back, the first is to be in front.
  for (auto set = settlement.sets.rbegin(); set != settlement.sets.rend(); ++set) settle(*set);
}

void BatchLedger::depart(std::uint32_t replica, const Settlement& undecided) {
  const auto found = accounts_.find(replica);
  if (found == accounts_.end()) return;
  auto& account = found->second;
  for (const auto& set : undecided.sets) {
    auto entry = first_of(account, set);
    for (std::uint32_t i = 0; i < set.batches && entry != account.handed_out.end(); ++i, ++entry) {
      account.left_behind += entry->left_behind ? 0 : 1;
      entry->left_behind = true;
    }
  }
  const auto kept = std::stable_partition(account.handed_out.begin(), account.handed_out.end(),
                                          [](const Entry& entry) { return entry.left_behind; });
  std::vector<Entry> returned(std::make_move_iterator(kept),
                              std::make_move_iterator(account.handed_out.end()));
  account.handed_out.erase(kept, account.handed_out.end());
  give_back(account, std::move(returned));
}

LedgerStatus BatchLedger::status() const {
  auto status = totals_;
  for (const auto& [replica, account] : accounts_) {
    for (const auto& entry : account.handed_out)
      status.outstanding.push_back({replica, true, entry.batch});
    for (const auto& entry : account.waiting)
      status.outstanding.push_back({replica, false, entry.batch});
  }
  for (const auto& batch : unclaimed_)
    status.outstanding.push_back({OutstandingBatch::kAnyReplica, false, batch});
  return status;
}

LedgerStatus BatchLedger::left_by(std::uint32_t replica) const {
  auto status = totals_;
  const auto found = accounts_.find(replica);
  if (found == accounts_.end()) return status;
  for (const auto& entry : found->second.handed_out)
    status.outstanding.push_back({replica, true, entry.batch});
  for (const auto& entry : found->second.waiting)
    if (entry.again) status.outstanding.push_back({replica, false, entry.batch});
  return status;
}

}  // namespace troupe
