#include "troupe/actors/pipeline/piece_list.h"

#include <algorithm>
#include <utility>

#include "troupe/actors/readers/reader.h"

namespace troupe {

PieceList::PieceList(std::shared_ptr<const RecordSource> source, const std::string& position)
    : source_(std::move(source)), total_(source_->pieces()) {
  next_ = position.empty()
              ? total_
              : std::min(total_, source_->piece_of(SourcePosition::parse(position)) + 1);
}

std::optional<ReadingState::Piece> PieceList::take() {
  if (!handed_back_.empty()) {
    auto piece = std::move(handed_back_.front());
    handed_back_.pop_front();
    return piece;
  }
  if (next_ >= total_) return std::nullopt;
  return ReadingState::Piece{source_->piece(next_++).str(), kRestOfPiece};
}

void PieceList::hand_back(const std::vector<ReadingState::Piece>& pieces) {
  handed_back_.insert(handed_back_.end(), pieces.begin(), pieces.end());
}

ReadingState PieceList::all() const {
  return {{handed_back_.begin(), handed_back_.end()},
          next_ < total_ ? source_->piece(next_).str() : std::string()};
}

}  // namespace troupe
