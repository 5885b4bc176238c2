#include "troupe/actors/readers/record_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

std::size_t record_bytes(const RecordRun& run) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < run.count(); ++i) bytes += run.ends[i] - run.begins[i];
  return bytes;
}

/// The file that the last record of a run stands in, and the number of the record behind it.
bool follows(const RecordRun& before, const RecordRun& run) {
  const auto last = before.count() - 1;
  return before.number_of(last) + 1 == run.first_record && before.file_of(last) == run.file;
}

/// Says at which lines records begin that are longer than one: what stands between
/// them is not copied, so that nobody could count it.
void keep_line_numbers(RecordRun& to, const RecordRun& run, std::uint32_t index) {
  for (std::uint32_t i = 1; i < run.count(); ++i) {
    const auto number = run.number_of(i);
    const bool same = run.file_of(i) == run.file_of(i - 1);
    if (!same || number != run.number_of(i - 1) + 1)
      to.jumps.push_back({index + i, same ? std::string() : run.file_of(i), number});
  }
}

void append(RecordRun& to, const RecordRun& run, char* data, std::size_t& used) {
  const auto index = static_cast<std::uint32_t>(to.count());
  if (index == 0) {
    to.file = run.file;
    to.first_record = run.first_record;
    to.epoch = run.epoch;
  } else if (!follows(to, run)) {
    const bool same = to.file_of(index - 1) == run.file;
    to.jumps.push_back({index, same ? std::string() : run.file, run.first_record});
  }
  if (run.by_lines)
    keep_line_numbers(to, run, index);
  else
    for (const auto& jump : run.jumps)
      to.jumps.push_back({index + jump.index, jump.file, jump.record});
  for (std::size_t i = 0; i < run.count(); ++i) {
    const auto length = run.ends[i] - run.begins[i];
    std::memcpy(data + used, run.begin(i), length);
    to.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + used));
    used += length;
    to.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + used));
  }
}

}  // namespace

void check(const RecordRun& run) {
  const auto size = run.bytes.byte_size();
  const auto last = size < kRecordPadding ? 0 : size - kRecordPadding;
  bool good = run.begins.size() == run.ends.size() && run.bytes.dtype() == DType::uint8;
  for (std::size_t i = 0; i < run.count() && good; ++i)
    good = run.begins[i] >= kRecordPadding && run.begins[i] <= run.ends[i] && run.ends[i] <= last;
  if (!good)
    fail(Code::internal, "the reader gives records of ", run.file, " that do not stand in their ",
         run.bytes.dtype(), " buffer of ", size, " bytes, with ", kRecordPadding,
         " more on both sides");
}

RecordRun slice(const RecordRun& run, std::size_t begin, std::size_t end) {
  if (begin == 0 && end == run.count()) return run;
  RecordRun part;
  part.bytes = run.bytes;
  const auto from = static_cast<std::ptrdiff_t>(begin);
  const auto to = static_cast<std::ptrdiff_t>(end);
  part.begins.assign(run.begins.begin() + from, run.begins.begin() + to);
  part.ends.assign(run.ends.begin() + from, run.ends.begin() + to);
  part.file = run.file_of(begin);
  part.first_record = run.number_of(begin);
  part.epoch = run.epoch;
  part.by_lines = run.by_lines;
  for (const auto& jump : run.jumps)
    if (jump.index > begin && jump.index < end)
      part.jumps.push_back(
          {jump.index - static_cast<std::uint32_t>(begin), jump.file, jump.record});
  return part;
}

RecordRun pick(const RecordRun& run, std::size_t begin, std::size_t step) {
  if (step == 1) return slice(run, begin, run.count());
  RecordRun picked;
  picked.bytes = run.bytes;
  picked.epoch = run.epoch;
  for (auto i = begin; i < run.count(); i += step) {
    const auto index = static_cast<std::uint32_t>(picked.count());
    const auto& file = run.file_of(i);
    const auto number = run.number_of(i);
    if (index == 0) {
      picked.file = file;
      picked.first_record = number;
    } else {
      const bool same = picked.file_of(index - 1) == file;
      picked.jumps.push_back({index, same ? std::string() : file, number});
    }
    picked.begins.push_back(run.begins[i]);
    picked.ends.push_back(run.ends[i]);
  }
  return picked;
}

RunCollector::RunCollector(const BlockLimits& limits) : limits_(limits) {
  limits_.records = std::max<std::size_t>(1, limits_.records);
  limits_.bytes = std::clamp<std::size_t>(limits_.bytes, 1, kMaxRecordBytes);
}

BlockLimits RunCollector::room() const {
  if (count_ > 0 && (count_ >= limits_.records || bytes_ >= limits_.bytes)) return {0, 0};
  return {limits_.records - count_, limits_.bytes - bytes_, limits_.cross_files};
}

void RunCollector::add(RecordRun run) {
  bytes_ += record_bytes(run);
  count_ += run.count();
  if (bytes_ > 3 * kMaxRecordBytes)
    fail(Code::resource_exhausted, run.place(0), ": a block of ", count_, " records holds ", bytes_,
         " bytes, too many for one run");
  pieces_.push_back(std::move(run));
}

RecordRun RunCollector::take() {
  RecordRun run;
  if (pieces_.size() == 1) {
    run = std::move(pieces_[0]);
  } else if (!pieces_.empty()) {
    run.bytes = record_buffer(bytes_);
    run.begins.reserve(count_);
    run.ends.reserve(count_);
    std::size_t used = 0;
    for (const auto& piece : pieces_) append(run, piece, record_data(run.bytes), used);
  }
  pieces_.clear();
  count_ = bytes_ = 0;
  return run;
}

}  // namespace troupe
