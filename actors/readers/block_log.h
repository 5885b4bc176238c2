#pragma once

#include <caf/actor_addr.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "troupe/messages/data_state.h"

namespace troupe {

/// Where the blocks begin that a reader has handed out and that may still be on their way to
/// the queue. A client that asks for a block has passed on all but the last one that it got, so
/// that two blocks of each client are remembered; between begin_cut() and end_cut() all are.
class BlockLog {
 public:
  /// The client asks for another one.
  void asked(const caf::actor_addr& client);
  void handed_out(const caf::actor_addr& client, std::uint64_t sequence, ReadingState::Piece piece);

  void begin_cut() { ++cuts_; }
  void end_cut() { cuts_ -= cuts_ > 0 ? 1 : 0; }
  /// Those that the queue has not taken, in the order in which they were read.
  std::vector<ReadingState::Piece> missing(const BlockReceipts& receipts) const;

 private:
  std::map<std::uint64_t, ReadingState::Piece> pieces_;  // by sequence
  std::map<caf::actor_addr, std::deque<std::uint64_t>> clients_;
  int cuts_ = 0;
};

}  // namespace troupe
