#include "troupe/actors/readers/zip_source.h"

#include <algorithm>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// Records [begin, end) of a run; the text is shared.
RecordRun cut(const RecordRun& run, std::size_t begin, std::size_t end) {
  if (begin == 0 && end == run.count()) return run;
  RecordRun part;
  part.bytes = run.bytes;
  part.begins.assign(run.begins.begin() + begin, run.begins.begin() + end);
  part.ends.assign(run.ends.begin() + begin, run.ends.begin() + end);
  part.file = run.file;
  part.first_record = run.first_record + static_cast<std::int64_t>(begin);
  return part;
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
  for (const auto& run : runs) streams.push_back(cut(run, used, used + count));
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
       longer->runs[0].place(longer->used), " (ZipOptions::allow_shorter if that is fine)");
}

SourcePosition ZipSource::position() const {
  SourcePosition position;
  for (const auto& part : parts_) {
    auto at = part.left() > 0 ? part.before : part.source->position();
    for (auto& stream : at.streams) {
      if (part.left() > 0) stream.skip += part.used;
      position.streams.push_back(stream);
    }
  }
  return position;
}

void ZipSource::seek(const SourcePosition& position) {
  auto rest = std::span(position.streams);
  for (auto& part : parts_) {
    // How many streams a source has shows in its position.
    const auto width = part.source->position().streams.size();
    if (width > rest.size()) break;
    part.source->seek({0, {rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(width)}});
    rest = rest.subspan(width);
    part.runs.clear();
    part.used = 0;
    part.ended = false;
  }
  if (!rest.empty())
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
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

std::string ZipSource::describe() const {
  std::string words;
  for (const auto& part : parts_) {
    if (!words.empty()) words += " with ";
    words += part.source->describe();
  }
  return words;
}

}  // namespace troupe
