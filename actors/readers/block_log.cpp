#include "troupe/actors/readers/block_log.h"

#include <utility>

namespace troupe {

void BlockLog::asked(const caf::actor_addr& client) {
  if (cuts_ > 0) return;
  auto& blocks = clients_[client];
  for (; blocks.size() > 1; blocks.pop_front()) pieces_.erase(blocks.front());
}

void BlockLog::handed_out(const caf::actor_addr& client, std::uint64_t sequence,
                          ReadingState::Piece piece) {
  clients_[client].push_back(sequence);
  pieces_.emplace(sequence, std::move(piece));
}

std::vector<ReadingState::Piece> BlockLog::missing(const BlockReceipts& receipts) const {
  std::vector<ReadingState::Piece> missing;
  for (const auto& [sequence, piece] : pieces_)
    if (!receipts.has(sequence)) missing.push_back(piece);
  return missing;
}

}  // namespace troupe
