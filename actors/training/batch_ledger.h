#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "troupe/messages/payloads.h"

namespace troupe {

/// The books of whoever hands out batches: every batch that came from the queue and is not
/// settled yet, whose it is, and in which order. Tensors are shared, not copied.
///
/// A batch waits for its replica, is handed out, and stays in the books until a settlement
/// says what became of the set that it is part of. When a replica is lost, what it had goes
/// back to the front of what waits for its successor, in the same order; but for sets that
/// are still to be decided on, which do so if they are refused.
class BatchLedger {
 public:
  /// The batch waits for that replica, behind what waits already.
  void add(std::uint32_t replica, Batch batch);
  /// The batch waits for any replica.
  void add(Batch batch) { unclaimed_.push_back(std::move(batch)); }
  std::optional<Batch> take_unclaimed();
  /// The next one for that replica; none when nothing waits.
  std::optional<Batch> hand_out(std::uint32_t replica);

  void settle(const Settlement& settlement);
  /// The replica is lost, or done; `undecided` are whole sets of it.
  void depart(std::uint32_t replica, const Settlement& undecided);
  /// Sets of one that departed are undecided: what its successor gets first is not known.
  bool undecided(std::uint32_t replica) const;

  LedgerStatus status() const;
  /// The same, but only of that replica, and what was handed out to it before.
  LedgerStatus left_by(std::uint32_t replica) const;

 private:
  struct Entry {
    Batch batch;
    bool left_behind = false;  ///< by one that departed, in a set that is undecided
    bool again = false;        ///< it was handed out before, to one that departed
  };
  struct Account {
    std::deque<Entry> handed_out;
    std::deque<Entry> waiting;
    std::size_t left_behind = 0;
  };
  static std::deque<Entry>::iterator first_of(Account& account, const SettledSet& set);
  static void give_back(Account& account, std::vector<Entry> returned);
  void settle(const SettledSet& set);

  std::map<std::uint32_t, Account> accounts_;
  std::deque<Batch> unclaimed_;
  LedgerStatus totals_;  ///< without the batches
};

}  // namespace troupe
