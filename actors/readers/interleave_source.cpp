#include "troupe/actors/readers/interleave_source.h"

#include <algorithm>
#include <utility>

#include "troupe/ops/error.h"

namespace troupe {

InterleaveSource::InterleaveSource(std::size_t inputs, InputOpener open, std::string description,
                                   InterleaveOptions options)
    : inputs_(inputs),
      open_(std::move(open)),
      description_(std::move(description)),
      options_(std::move(options)) {
  if (inputs_ < 1) fail(Code::invalid_argument, "nothing to interleave: no input was given");
  if (options_.cycle_length < 1 || options_.block_length < 1)
    fail(Code::invalid_argument, "cycle_length and block_length must be at least 1, not ",
         options_.cycle_length, " and ", options_.block_length, " (InterleaveOptions)");
  options_.cycle_length = std::min(options_.cycle_length, inputs_);
  restart({});
}

void InterleaveSource::restart(std::span<const std::size_t> order) {
  order_ = file_order(order, inputs_);
  places_.clear();
  places_.resize(options_.cycle_length);
  turn_ = taken_ = next_ = 0;
  any_ = false;
  failure_ = nullptr;
}

std::string InterleaveSource::describe() const {
  return text(description_, ", ", options_.block_length, " of each of ", options_.cycle_length,
              " in turn");
}

std::string InterleaveSource::report() const {
  return options_.report ? options_.report->words() : std::string();
}

// Inputs are mostly files of one kind: the first ones tell what the others are like.
std::pair<std::uint64_t, std::uint64_t> InterleaveSource::bytes_of_inputs(
    const BlockLimits& limits) const {
  constexpr std::size_t kMost = 64;
  std::uint64_t block = 2 * std::uint64_t{limits.bytes};
  std::uint64_t held = 0;
  for (std::size_t i = 0; i < std::min(inputs_, kMost); ++i) {
    try {
      const auto input = open_(i);
      block = std::max(block, input->block_bytes(limits));
      held = std::max(held, input->held_bytes(limits));
    } catch (const Error&) {
      // Reading will say what is wrong with it.
    }
  }
  return {block, std::max(block, held)};
}

std::uint64_t InterleaveSource::block_bytes(const BlockLimits& limits) const {
  return bytes_of_inputs(limits).first;
}

std::uint64_t InterleaveSource::held_bytes(const BlockLimits& limits) const {
  const auto [block, held] = bytes_of_inputs(limits);
  return options_.cycle_length * (block + held);
}

void InterleaveSource::open(Place& place, std::size_t input) const {
  place.source = open_(order_[input]);
  place.input = input;
}

void InterleaveSource::next_place() {
  turn_ = (turn_ + 1) % places_.size();
  taken_ = 0;
}

bool InterleaveSource::find_source() {
  for (std::size_t tried = 0; tried <= places_.size(); ++tried) {
    auto& place = places_[turn_];
    if (!place.source && next_ < inputs_) open(place, next_++);
    if (place.source) return true;
    next_place();
  }
  return false;
}

bool InterleaveSource::read_some(std::vector<RunCollector>& collected, const BlockLimits& limits) {
  if (!find_source()) return false;
  auto room = limits;
  room.records = std::clamp<std::size_t>(limits.records, 1, options_.block_length - taken_);
  std::vector<RecordRun> runs;
  if (!places_[turn_].source->read(runs, room)) {
    places_[turn_].source.reset();
    next_place();
    return true;
  }
  if (collected.empty()) collected.assign(runs.size(), RunCollector(limits));
  if (collected.size() != runs.size())
    fail(Code::invalid_argument, describe(), ": one input has ", collected.size(),
         " streams of records, another ", runs.size());
  taken_ += runs.at(0).count();
  for (std::size_t s = 0; s < runs.size(); ++s) collected[s].add(std::move(runs[s]));
  if (taken_ == options_.block_length) next_place();
  any_ = true;
  return true;
}

bool InterleaveSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  if (failure_) std::rethrow_exception(failure_);
  std::vector<RunCollector> collected;
  try {
    while (true) {
      const auto room = collected.empty() ? limits : collected[0].room();
      if ((!collected.empty() && room.records == 0) || !read_some(collected, room)) break;
    }
  } catch (const Error&) {
    if (collected.empty()) throw;
    failure_ = std::current_exception();  // behind the records that came before it
  }
  streams.clear();
  for (auto& collector : collected) streams.push_back(collector.take());
  if (!any_ && !options_.allow_empty) {
    const auto left_out = report();
    fail(Code::invalid_argument, "0 records in ", description_, left_out.empty() ? "" : ": ",
         left_out, " (InterleaveOptions::allow_empty if that is fine)");
  }
  return !streams.empty();
}

SourcePosition InterleaveSource::position() const {
  SourcePosition position;
  position.streams.push_back(
      {.file = next_, .offset = turn_, .record = static_cast<std::int64_t>(taken_) + 1});
  for (const auto& place : places_) {
    if (place.source)
      position.nest(place.source->position(), place.input + 1);
    else
      position.nest({});
  }
  return position;
}

void InterleaveSource::seek(const SourcePosition& position) {
  NestedPositions nested(position, 1);
  const auto& head = position.streams[0];
  std::vector<Place> places(options_.cycle_length);
  bool good = head.file <= inputs_ && head.offset < places.size() && head.record >= 1 &&
              static_cast<std::uint64_t>(head.record) <= options_.block_length;
  for (auto& place : places) {
    const auto inner = nested.next();
    good = good && inner.skip <= head.file;
    if (!good) break;
    if (inner.skip == 0) continue;
    open(place, inner.skip - 1);
    place.source->seek(inner.position);
  }
  if (!good) fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  nested.expect_end();
  places_ = std::move(places);
  turn_ = head.offset;
  taken_ = static_cast<std::size_t>(head.record) - 1;
  next_ = head.file;
  any_ = true;
  failure_ = nullptr;
}

}  // namespace troupe
