#include "troupe/actors/readers/zip_source.h"

#include <algorithm>

#include "troupe/actors/readers/record_run.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// A blank line at the end of a file is easily overlooked.
bool is_blank(const RecordRun& run, std::size_t i) {
  return std::all_of(run.begin(i), run.end(i), [](char c) { return c == ' ' || c == '	'; });
}

}  // namespace

ZipSource::ZipSource(std::vector<std::unique_ptr<RecordSource>> sources, ZipOptions options)
    : options_(options) {
  if (sources.empty()) fail(Code::invalid_argument, "nothing to zip: no source was given");
  for (auto& source : sources) parts_.emplace_back().source = std::move(source);
}

void ZipSource::Part::refill(const BlockLimits& limits) {
  if (left() > 0 || ended) return;
  before = source->position();
  used = 0;
  ended = !source->read(runs, limits);
  if (ended) runs.clear();
}

void ZipSource::Part::take(std::size_t count, std::vector<RecordRun>& streams) {
  for (const auto& run : runs) streams.push_back(slice(run, used, used + count));
  used += count;
  last = runs[0].place(used - 1);
}

bool ZipSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  streams.clear();
  for (auto& part : parts_) part.refill(limits);
  if (std::ranges::any_of(parts_, [](const Part& part) { return part.ended; })) {
    if (!options_.allow_shorter) check_ends();
    return false;
  }
  auto count = limits.records;
  for (const auto& part : parts_) count = std::min(count, part.left());
  for (auto& part : parts_) part.take(std::max<std::size_t>(1, count), streams);
  return true;
}

void ZipSource::check_ends() const {
  const auto shorter = std::ranges::find_if(parts_, [](const auto& part) { return part.ended; });
  const auto longer = std::ranges::find_if(parts_, [](const auto& part) { return !part.ended; });
  if (longer == parts_.end()) return;
  fail(Code::data_loss, "length mismatch: ", shorter->source->describe(), " end after ",
       shorter->last, ", but ", longer->source->describe(), " go on at ",
       longer->runs[0].place(longer->used),
       is_blank(longer->runs[0], longer->used) ? " with a blank line" : "",
       " (ZipOptions::allow_shorter if that is fine)");
}

SourcePosition ZipSource::position() const {
  SourcePosition position;
  for (const auto& part : parts_) {
    if (part.left() > 0)
      position.nest(part.before, part.used);
    else
      position.nest(part.source->position());
  }
  return position;
}

void ZipSource::seek(const SourcePosition& position) {
  NestedPositions nested(position);
  for (auto& part : parts_) {
    const auto inner = nested.next();
    part.source->seek(inner.position);
    skip_records(*part.source, inner.skip);
    part.runs.clear();
    part.used = 0;
    part.ended = false;
  }
  nested.expect_end();
}

void ZipSource::restart(std::span<const std::size_t> order) {
  for (auto& part : parts_) {
    if (!order.empty() && part.source->file_count() != order.size())
      fail(Code::invalid_argument, "the files of ", describe(),
           " cannot be shuffled together: there are not as many in each");
    part.source->restart(order);
    part.runs.clear();
    part.used = 0;
    part.ended = false;
    part.last = "the start";
  }
}

std::string ZipSource::report() const {
  std::string words;
  for (const auto& part : parts_) {
    const auto more = part.source->report();
    if (!words.empty() && !more.empty()) words += "; ";
    words += more;
  }
  return words;
}

std::uint64_t ZipSource::block_bytes(const BlockLimits& limits) const {
  std::uint64_t bytes = 0;
  for (const auto& part : parts_) bytes += part.source->block_bytes(limits);
  return bytes;
}

std::uint64_t ZipSource::held_bytes(const BlockLimits& limits) const {
  std::uint64_t bytes = 0;
  for (const auto& part : parts_) bytes += part.source->held_bytes(limits);
  return bytes;
}

std::size_t ZipSource::stream_count() const {
  std::size_t count = 0;
  for (const auto& part : parts_) {
    const auto streams = part.source->stream_count();
    if (streams == 0) return 0;
    count += streams;
  }
  return count;
}

std::string ZipSource::describe() const {
  std::string words;
  for (const auto& part : parts_) {
    if (!words.empty()) words += " with ";
    words += part.source->describe();
  }
  return words;
}

}  // namespace troupe
