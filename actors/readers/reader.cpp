#include "troupe/actors/readers/reader.h"

#include <utility>

#include "troupe/actors/readers/reader_behavior.h"
#include "troupe/actors/readers/record_run.h"

namespace troupe {
namespace {

using Self = Reader::stateful_pointer<ReaderState>;

/// The next block, or the end.
void read_one(ReaderState& r, const BlockLimits& limits) {
  try {
    ReaderState::Ready next;
    next.begin = r.source->position();
    if (r.source->read(next.block.streams, limits)) {
      if (next.block.count() == 0)
        fail(Code::internal, r.source->describe(), ": a block without records came, which is not ",
             "the end of the data");
      for (const auto& run : next.block.streams) check(run);  // sources of users may do anything
      next.block.sequence = r.sequence++;
      r.ready.push_back(std::move(next));
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
  r.end = {};
  r.sequence = snapshot.sequence;
}

}  // namespace

ReaderState::~ReaderState() {
  for (auto& promise : waiting)
    promise.deliver(fault(Code::cancelled, "the reader has been stopped"));
}

void answer_waiting(ReaderState& r) {
  while (!r.waiting.empty() && (!r.ready.empty() || r.end)) {
    auto promise = std::move(r.waiting.front());
    r.waiting.pop_front();
    if (r.ready.empty()) {
      promise.deliver(r.end);
    } else {
      auto block = std::move(r.ready.front().block);
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

Reader::behavior_type record_reader(Self self, std::shared_ptr<RecordSource> source,
                                    ReaderOptions options) {
  self->state.source = std::move(source);
  self->state.end = check_limits(options.limits);
  if (!self->state.source)
    self->state.end = fault(Code::invalid_argument, "a reader needs a source, but got none");
  return reader_behavior(
      self, [options](ReaderState& r) { read_one(r, options.limits); },
      [options](Self reader) { advance(reader, options); }, snapshot, restore);
}

}  // namespace troupe
