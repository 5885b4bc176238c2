#include "troupe/actors/readers/reader.h"

#include <algorithm>
#include <utility>

#include "troupe/actors/readers/reader_behavior.h"
#include "troupe/actors/readers/record_run.h"

namespace troupe {
namespace {

using Self = SavableReader::stateful_pointer<ReaderState>;

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

/// So many records of it have been read.
void go_on_in_piece(ReaderState& r, std::uint64_t records) {
  if (r.again.empty()) return;
  r.rest -= std::min(r.rest, records);
  if (r.rest > 0) return;
  r.again.pop_front();
  if (r.again.empty()) go_to(*r.source, r.then);
}

/// The next block, or the end.
void read_one(ReaderState& r, BlockLimits limits) {
  try {
    begin_piece(r);
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
    } else if (r.rest > 0) {
      fail(Code::data_loss, r.source->describe(), ": the data end ", r.rest,
           " records before the place where reading was to go on");
    } else {
      const auto report = r.source->report();
      r.end = fault(Code::out_of_range, "end of data: ", r.source->describe(),
                    report.empty() ? "" : "; ", report);
    }
  } catch (...) {
    r.end = current_failure();
    r.source.reset();  // it may not be used any more
  }
}

void advance(Self self, const ReaderOptions& options) {
  auto& r = self->state;
  answer_waiting(r);
  const bool enough = r.ready.size() >= options.read_ahead + r.waiting.size();
  if (!r.reading)
    r.clock.enter(r.end    ? StageActivity::idle
                  : enough ? StageActivity::waiting_for_output
                           : StageActivity::busy);
  if (r.reading || r.end || enough) return;
  r.reading = true;
  tick(self);
}

/// The source, unless there is none any more.
RecordSource& source(const ReaderState& r) {
  if (!r.source) throw to_error(r.end);
  return *r.source;
}

ReaderSnapshot snapshot(const ReaderState& r) {
  if (!r.again.empty())
    fail(Code::failed_precondition,
         "the reader still reads again what was on its way when a "
         "checkpoint was made");
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
  r.end = {};
  r.sequence = snapshot.sequence;
}

/// Blocks that wait here are pieces, too, so that they have the same records the next time.
ReadingState cut(ReaderState& r, const BlockReceipts& receipts) {
  r.log.end_cut();
  ReadingState state{r.log.missing(receipts), {}};
  const auto now = source(r).position();
  for (const auto& ready : r.ready) state.again.push_back({ready.begin.str(), ready.block.count()});
  auto left = r.again.begin();
  if (r.rest > 0) {
    state.again.push_back({now.str(), r.rest});
    ++left;
  }
  state.again.insert(state.again.end(), left, r.again.end());
  state.position = r.again.empty() ? now.str() : r.then;
  return state;
}

/// A state that is refused changes nothing.
void restore_state(ReaderState& r, const ReadingState& state) {
  for (const auto& piece : state.again)
    if (piece.records == 0)
      fail(Code::data_loss, "not what a reader has to read again: a piece without records");
  restore(r, ReaderSnapshot{state.position, 0});
  if (!state.again.empty()) restore(r, ReaderSnapshot{state.again.front().position, 0});
  r.again.assign(state.again.begin(), state.again.end());
  r.then = state.position;
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

SavableReader::behavior_type record_reader(Self self, std::shared_ptr<RecordSource> source,
                                           ReaderOptions options) {
  self->state.source = std::move(source);
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
      });
}

}  // namespace troupe
