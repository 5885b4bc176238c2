#include "troupe/actors/readers/data_line_source.h"

#include "troupe/actors/readers/record_run.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

TextLineOptions allowing_empty(TextLineOptions options) {
  options.allow_empty = true;
  return options;
}

}  // namespace

DataLineSource::DataLineSource(TextLineOptions options, LineTest holds_data)
    : lines_(allowing_empty(options)), holds_data_(holds_data), allow_empty_(options.allow_empty) {}

bool DataLineSource::next_holds_data() const {
  const auto& run = lines_read_[0];
  return holds_data_(
      {run.begin(used_), static_cast<std::size_t>(run.end(used_) - run.begin(used_))});
}

bool DataLineSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  while (true) {
    while (left() > 0 && !next_holds_data()) ++used_;
    if (left() > 0) break;
    before_ = lines_.position();
    used_ = 0;
    if (lines_.read(lines_read_, limits)) continue;
    lines_read_.clear();
    if (!any_ && !allow_empty_ && !limits.within_piece)
      fail(Code::invalid_argument, "0 records in ", describe(),
           ": every line is blank or a comment (TextLineOptions::allow_empty if that is fine)");
    return false;
  }
  const auto& run = lines_read_[0];
  const auto begin = used_;
  std::size_t bytes = 0;
  do {
    bytes += run.ends[used_] - run.begins[used_];
    ++used_;
  } while (left() > 0 && used_ - begin < limits.records && bytes < limits.bytes &&
           next_holds_data());
  streams.assign(1, slice(run, begin, used_));
  any_ = true;
  return true;
}

SourcePosition DataLineSource::position() const {
  if (left() == 0) return lines_.position();
  auto position = before_;
  position.streams[0].skip += used_;
  return position;
}

void DataLineSource::forget() {
  lines_read_.clear();
  used_ = 0;
}

void DataLineSource::seek(const SourcePosition& position) {
  lines_.seek(position);
  forget();
  any_ = true;  // before the position, as far as we know
}

void DataLineSource::restart(std::span<const std::size_t> order) {
  lines_.restart(order);
  forget();
  any_ = false;
}

}  // namespace troupe
