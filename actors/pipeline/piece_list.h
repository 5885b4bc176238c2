#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/readers/record_source.h"
#include "troupe/messages/data_state.h"

namespace troupe {

/// What is left for the readers that share the records of a source: pieces that nobody has begun,
/// and what those who left have handed back.
class PieceList {
 public:
  /// The pieces behind the one in which reading goes on from `position`; none when it is empty.
  /// The source only says where they begin. Throws data_loss for a position that is none.
  PieceList(std::shared_ptr<const RecordSource> source, const std::string& position);

  bool empty() const { return handed_back_.empty() && next_ >= total_; }
  /// The next one, which is not in the list any more.
  std::optional<ReadingState::Piece> take();
  void hand_back(const std::vector<ReadingState::Piece>& pieces);
  /// All of them, as one reader would read them.
  ReadingState all() const;

 private:
  std::shared_ptr<const RecordSource> source_;
  std::uint64_t next_ = 0;
  std::uint64_t total_ = 0;
  std::deque<ReadingState::Piece> handed_back_;
};

}  // namespace troupe
