#include "troupe/actors/readers/text_line_source.h"

#include <algorithm>
#include <cstring>

#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {

TextLineSource::TextLineSource(TextLineOptions options) : options_(std::move(options)) {
  if (options_.skip_header_lines < 0)
    fail(Code::invalid_argument, "skip_header_lines must be at least 0, not ",
         options_.skip_header_lines);
  if (options_.max_line_bytes < 1 || options_.max_line_bytes > kMaxRecordBytes)
    fail(Code::invalid_argument, "max_line_bytes must be from 1 to ", kMaxRecordBytes, ", not ",
         options_.max_line_bytes);
  options_.buffer_bytes = std::clamp<std::size_t>(options_.buffer_bytes, 1, kMaxRecordBytes);
  files_ = expand_files(options_.files);
  restart({});
}

void TextLineSource::restart(std::span<const std::size_t> order) {
  order_ = file_order(order, files_.size());
  close_file();
  file_index_ = 0;
  any_ = false;
}

std::string TextLineSource::describe() const { return "lines of " + describe_files(files_); }

void TextLineSource::open_file() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  file_ = std::make_unique<InputFile>(path());
  line_ = 1;
  if (fill() && std::string_view(data_, end_).starts_with(kByteOrderMark))
    begin_ = scanned_ = kByteOrderMark.size();
}

void TextLineSource::close_file() {
  file_.reset();
  buffer_ = Tensor();
  data_ = nullptr;
  begin_ = scanned_ = end_ = 0;
}

void TextLineSource::line_too_long() const {
  fail(Code::resource_exhausted, path(), ":", line_, ": the line is longer than ",
       options_.max_line_bytes, " bytes (TextLineOptions::max_line_bytes)");
}

bool TextLineSource::fill() {
  const auto kept = end_ - begin_;
  if (kept > options_.max_line_bytes) line_too_long();
  // An unfinished line larger than half of the buffer makes it grow.
  const auto capacity = std::max(options_.buffer_bytes, 2 * kept);
  auto buffer = record_buffer(capacity);
  auto* data = record_data(buffer);
  if (kept > 0) std::memcpy(data, data_ + begin_, kept);
  const auto got = file_->read(data + kept, capacity - kept);
  scanned_ -= begin_;
  begin_ = 0;
  end_ = kept + got;
  data_ = data;
  buffer_ = std::move(buffer);
  return got > 0;
}

void TextLineSource::add(RecordRun& run, std::size_t end) {
  const auto length = end - begin_;
  if (length > options_.max_line_bytes) line_too_long();
  if (length > 0 && data_[end - 1] == '\r') --end;
  if (run.count() == 0) run.first_record = line_;
  run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + begin_));
  run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + end));
}

bool TextLineSource::cut(RecordRun& run, const BlockLimits& limits) {
  std::size_t bytes = 0;
  while (run.count() < limits.records && (run.count() == 0 || bytes < limits.bytes)) {
    const auto* newline =
        end_ > scanned_
            ? static_cast<const char*>(std::memchr(data_ + scanned_, '\n', end_ - scanned_))
            : nullptr;
    if (newline == nullptr) {
      scanned_ = end_;
      break;
    }
    const auto next = static_cast<std::size_t>(newline - data_) + 1;
    if (line_ > options_.skip_header_lines) {
      add(run, next - 1);
      bytes += next - begin_;
    }
    begin_ = scanned_ = next;
    ++line_;
  }
  return run.count() > 0;
}

bool TextLineSource::cut_last(RecordRun& run) {
  if (begin_ == end_ || line_ <= options_.skip_header_lines) return false;
  add(run, end_);
  begin_ = scanned_ = end_;
  ++line_;
  return true;
}

void TextLineSource::next_file() {
  close_file();
  ++file_index_;
}

bool TextLineSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  streams.resize(1);
  auto& run = streams[0] = RecordRun();
  for (; file_index_ < files_.size(); next_file()) {
    if (!file_) open_file();
    bool found = cut(run, limits);
    while (!found && fill()) found = cut(run, limits);
    if (found || cut_last(run)) {
      run.bytes = buffer_;
      run.file = path();
      any_ = true;
      return true;
    }
  }
  if (!any_ && !options_.allow_empty)
    fail(Code::invalid_argument, "0 records in ", describe(),
         " (TextLineOptions::allow_empty if that is fine)");
  return false;
}

SourcePosition TextLineSource::position() const {
  StreamPosition at{.file = file_index_};
  if (file_) {
    at.offset = file_->offset() - (end_ - begin_);
    at.record = line_;
  }
  return {0, {at}};
}

void TextLineSource::seek(const SourcePosition& position) {
  if (position.streams.size() != 1 || position.streams[0].file > files_.size() ||
      position.streams[0].record < 1)
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  const auto& at = position.streams[0];
  close_file();
  any_ = true;  // before the position, as far as we know
  file_index_ = at.file;
  if (at.offset > 0) {
    file_ = std::make_unique<InputFile>(path());
    file_->seek(at.offset);
    line_ = at.record;
  }
  std::vector<RecordRun> skipped;
  for (auto rest = at.skip; rest > 0; rest -= skipped[0].count())
    if (!read(skipped, {.records = rest, .bytes = options_.buffer_bytes}))
      fail(Code::data_loss, describe(), " end before ", position.str());
}

}  // namespace troupe
