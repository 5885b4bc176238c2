#include "troupe/actors/readers/reader.h"

#include <algorithm>
#include <utility>

#include "troupe/actors/readers/reader_behavior.h"
#include "troupe/actors/readers/record_run.h"

namespace troupe {
namespace {

using Self = SharingReader::stateful_pointer<ReaderState>;
using Piece = ReadingState::Piece;

/// Pieces mostly follow one another, and going to a place in compressed data takes long.
void go_to(RecordSource& source, const std::string& position) {
  const auto to = SourcePosition::parse(position);
  if (source.position() != to) source.seek(to);
}

/// Begins the next of the pieces that are to be read first, when the one before is done.
void begin_piece(ReaderState& r) {
  if (r.again.empty() || r.rest > 0) return;
  go_to(*r.source, r.again.front().position);
  r.rest = r.again.front().records;
}

void end_piece(ReaderState& r) {
  r.rest = 0;
  r.again.pop_front();
  if (r.again.empty() && !r.dealer && !r.only_again) go_to(*r.source, r.then);
}

/// So many records of it have been read.
void go_on_in_piece(ReaderState& r, std::uint64_t records) {
  if (r.again.empty() || r.rest == kRestOfPiece) return;
  r.rest -= std::min(r.rest, records);
  if (r.rest == 0) end_piece(r);
}

caf::error end_of_data(const ReaderState& r) {
  const auto report = r.source->report();
  return fault(Code::out_of_range, "end of data: ", r.source->describe(),
               report.empty() ? "" : "; ", report);
}

/// The next block, or the end of a piece or of all.
void read_one(ReaderState& r, BlockLimits limits) {
  try {
    if (r.again.empty() && r.only_again) {
      r.end = end_of_data(r);
      return;
    }
    // It came to share behind its last piece, with this tick on its way: what is behind that is
    // for the dealer to deal out.
    if (r.again.empty() && r.dealer) return;
    begin_piece(r);
    limits.within_piece = r.rest == kRestOfPiece;
    if (r.rest > 0) limits.records = std::min<std::uint64_t>(limits.records, r.rest);
    ReaderState::Ready next;
    next.begin = r.source->position();
    if (r.source->read(next.block.streams, limits)) {
      if (next.block.count() == 0)
        fail(Code::internal, r.source->describe(), ": a block without records came, which is not ",
             "the end of the data");
      for (const auto& run : next.block.streams) check(run);  // sources of users may do anything
      next.block.sequence = r.sequence++;
      go_on_in_piece(r, next.block.count());
      r.ready.push_back(std::move(next));
    } else if (r.rest == kRestOfPiece) {
      end_piece(r);
    } else if (r.rest > 0) {
      fail(Code::data_loss, r.source->describe(), ": the data end ", r.rest,
           " records before the place where reading was to go on");
    } else {
      r.end = end_of_data(r);
    }
  } catch (...) {
    r.end = current_failure();
    r.source.reset();  // it may not be used any more
  }
}

void advance(Self self, const ReaderOptions& options);

void take_piece(Self self, const ReaderOptions& options) {
  self->state.taking = true;
  self->request(caf::actor_cast<PieceDealer>(self->state.dealer), caf::infinite, take_atom_v,
                self->state.number)
      .then(
          [self, options](const ReadingState& piece) {
            auto& r = self->state;
            r.taking = false;
            r.again.insert(r.again.end(), piece.again.begin(), piece.again.end());
            advance(self, options);
          },
          [self, options](const caf::error& why) {
            auto& r = self->state;
            r.taking = false;
            if (!r.end) r.end = code_of(why) == Code::out_of_range ? end_of_data(r) : why;
            advance(self, options);
          });
}

void advance(Self self, const ReaderOptions& options) {
  auto& r = self->state;
  answer_waiting(r);
  const bool enough = r.ready.size() >= options.read_ahead + r.waiting.size();
  if (!r.reading)
    r.clock.enter(r.end    ? StageActivity::idle
                  : enough ? StageActivity::waiting_for_output
                           : StageActivity::busy);
  if (r.reading || r.taking || r.end || enough) return;
  if (r.dealer && r.again.empty()) return take_piece(self, options);
  r.reading = true;
  tick(self);
}

/// The source, unless there is none any more.
RecordSource& source(const ReaderState& r) {
  if (!r.source) throw to_error(r.end);
  return *r.source;
}

ReaderSnapshot snapshot(const ReaderState& r) {
  if (!r.again.empty() || r.dealer || r.only_again)
    fail(Code::failed_precondition,
         "the reader has to read pieces of the data: those that it shares with others, or that "
         "were on their way when a checkpoint was made");
  const auto begin = r.ready.empty() ? source(r).position() : r.ready.front().begin;
  return {begin.str(), r.sequence - r.ready.size()};
}

/// A snapshot that is refused changes nothing.
void restore(ReaderState& r, const ReaderSnapshot& snapshot) {
  const auto to = SourcePosition::parse(snapshot.position);
  const auto from = source(r).position();
  try {
    r.source->seek(to);
  } catch (...) {
    const auto refused = current_failure();
    try {
      r.source->seek(from);
    } catch (...) {
      r.end = current_failure();
      r.source.reset();
    }
    throw to_error(refused);
  }
  r.ready.clear();
  r.again.clear();
  r.rest = 0;
  r.only_again = false;
  r.end = {};
  r.sequence = snapshot.sequence;
}

/// What has been read and not handed out, and what is to be read, in pieces. Blocks that wait
/// here are pieces, too, so that they have the same records the next time.
std::vector<Piece> pieces_left(const ReaderState& r) {
  std::vector<Piece> pieces;
  for (const auto& ready : r.ready) pieces.push_back({ready.begin.str(), ready.block.count()});
  auto left = r.again.begin();
  if (r.rest > 0) {
    pieces.push_back({source(r).position().str(), r.rest});
    ++left;
  }
  pieces.insert(pieces.end(), left, r.again.end());
  return pieces;
}

/// Where it goes on behind all pieces, by itself.
std::string position_behind(const ReaderState& r) {
  if (r.dealer || r.only_again) return {};
  return r.again.empty() ? source(r).position().str() : r.then;
}

ReadingState cut(ReaderState& r, const BlockReceipts& receipts) {
  r.log.end_cut();
  if (code_of(r.end) == Code::cancelled) throw to_error(r.end);  // what was ready is gone
  ReadingState state{r.log.missing(receipts), {}};
  if (!r.source && code_of(r.end) == Code::out_of_range) return state;  // it has left
  const auto left = pieces_left(r);
  state.again.insert(state.again.end(), left.begin(), left.end());
  state.position = position_behind(r);
  return state;
}

/// A state that is refused changes nothing.
void restore_state(ReaderState& r, const ReadingState& state) {
  for (const auto& piece : state.again)
    if (piece.records == 0)
      fail(Code::data_loss, "not what a reader has to read again: a piece without records");
  if (!state.position.empty()) restore(r, ReaderSnapshot{state.position, 0});
  if (!state.again.empty()) restore(r, ReaderSnapshot{state.again.front().position, 0});
  r.again.assign(state.again.begin(), state.again.end());
  r.then = state.position;
  r.only_again = state.position.empty();
  if (!r.only_again || !r.again.empty()) return;
  r.ready.clear();
  r.end = {};
  r.sequence = 0;
}

/// What is left of the piece that it is in is its own.
ReadingState share(ReaderState& r, const caf::actor& dealer, std::uint32_t number) {
  if (r.end) throw to_error(r.end);
  ReadingState state{{}, position_behind(r)};
  if (!state.position.empty()) r.again.push_back({state.position, kRestOfPiece});
  r.only_again = false;
  r.dealer = dealer;
  r.number = number;
  return state;
}

ReadingState leave(ReaderState& r) {
  if (r.end && code_of(r.end) != Code::out_of_range) throw to_error(r.end);
  ReadingState state{r.source ? pieces_left(r) : std::vector<Piece>(), {}};
  if (!r.end) r.end = end_of_data(r);
  r.ready.clear();
  r.again.clear();
  r.rest = 0;
  r.source.reset();  // closes its files
  return state;
}

}  // namespace

ReaderState::~ReaderState() {
  for (auto& [promise, client] : waiting)
    promise.deliver(fault(Code::cancelled, "the reader has been stopped"));
}

void answer_waiting(ReaderState& r) {
  while (!r.waiting.empty() && (!r.ready.empty() || r.end)) {
    auto [promise, client] = std::move(r.waiting.front());
    r.waiting.pop_front();
    if (r.ready.empty()) {
      promise.deliver(r.end);
    } else {
      auto block = std::move(r.ready.front().block);
      r.log.handed_out(client, block.sequence, {r.ready.front().begin.str(), block.count()});
      r.ready.pop_front();
      r.clock.passed_on(block.count(), block.record_bytes());
      promise.deliver(std::move(block));
    }
  }
}

void stop_reader(ReaderState& r) {
  r.source.reset();  // closes its files
  r.end = fault(Code::cancelled, "the reader has been stopped");
  r.ready.clear();
  answer_waiting(r);
  r.clock.enter(StageActivity::idle);
}

caf::error check_limits(const BlockLimits& limits) {
  if (limits.records >= 1 && limits.bytes >= 1) return {};
  return fault(Code::invalid_argument, "a reader's blocks hold at least 1 record and 1 byte, not ",
               limits.records, " and ", limits.bytes, " (BlockLimits)");
}

SharingReader::behavior_type record_reader(Self self, std::shared_ptr<RecordSource> source,
                                           ReaderOptions options) {
  self->state.source = std::move(source);
  self->state.dealer = std::exchange(options.dealer, {});
  self->state.number = options.number;
  self->state.end = check_limits(options.limits);
  if (!self->state.source)
    self->state.end = fault(Code::invalid_argument, "a reader needs a source, but got none");
  return reader_behavior(
      self, [options](ReaderState& r) { read_one(r, options.limits); },
      [options](Self reader) { advance(reader, options); }, snapshot, restore,
      [self](cut_atom) {
        self->state.log.begin_cut();
        return caf::ok_atom_v;
      },
      [self](cut_atom, const BlockReceipts& receipts) {
        return answer([&] { return cut(self->state, receipts); });
      },
      [self, options](restore_atom, const ReadingState& to) {
        return answer([&] {
          restore_state(self->state, to);
          advance(self, options);
          return caf::ok_atom_v;
        });
      },
      [self](join_atom, const caf::actor& dealer, std::uint32_t number) {
        return answer([&] { return share(self->state, dealer, number); });
      },
      [self, options](leave_atom) {
        return answer([&] {
          auto left = leave(self->state);
          advance(self, options);
          return left;
        });
      },
      [self](end_atom) { self->quit(); });
}

}  // namespace troupe
