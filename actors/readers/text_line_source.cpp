#include "troupe/actors/readers/text_line_source.h"

#include <cstring>

#include "troupe/actors/readers/file_window.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

class TextLineFile : public RecordFile {
 public:
  TextLineFile(const TextLineOptions& options, const std::string& path, const StreamPosition& at);

  bool read(RecordRun& run, const BlockLimits& limits) override;
  StreamPosition position() const override { return {.offset = window_.offset(), .record = line_}; }

 private:
  /// From the start of the range, which may lie inside a line.
  void start();
  bool fill();
  /// Where the line that begins the rest ends; npos when that is not in memory.
  std::size_t find_end();
  void check_length(std::size_t length) const;
  void add(RecordRun& run, std::size_t end) const;
  bool wanted() const { return line_ > skip_lines_; }
  /// Behind a byte order mark, perhaps, and yet at the start of the first range.
  bool first_of_file() const { return line_ == 1 && options_.range.begin == 0; }

  const TextLineOptions options_;
  std::string name_;  // of the file, in places
  FileWindow window_;
  std::int64_t skip_lines_ = 0;
  std::int64_t line_ = 1;    // number of the next line
  std::size_t scanned_ = 0;  // bytes of the rest without an end of a line
};

TextLineFile::TextLineFile(const TextLineOptions& options, const std::string& path,
                           const StreamPosition& at)
    : options_(options), name_(path), window_(path, options.compression, options.buffer_bytes) {
  const bool from_start = options_.range.begin == 0;
  if (from_start)
    skip_lines_ = options_.skip_header_lines;
  else
    name_ = text(path, '@', options_.range.begin);
  expect_readable(options_.range, window_);
  if (at.offset > 0) {
    window_.seek(at.offset);
    line_ = at.record;
  } else {
    start();
  }
}

void TextLineFile::start() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (options_.range.begin == 0) {
    while (window_.rest().size() < kByteOrderMark.size() && window_.fill()) {
    }
    if (window_.rest().starts_with(kByteOrderMark)) window_.consume(kByteOrderMark.size());
    return;
  }
  window_.seek_line(options_.range.begin);
}

bool TextLineFile::fill() {
  check_length(window_.rest().size());
  return window_.fill();
}

std::size_t TextLineFile::find_end() {
  const auto rest = window_.rest();
  if (rest.size() == scanned_) return std::string_view::npos;
  const auto* found =
      static_cast<const char*>(std::memchr(rest.data() + scanned_, '\n', rest.size() - scanned_));
  if (found != nullptr) return static_cast<std::size_t>(found - rest.data());
  scanned_ = rest.size();
  return std::string_view::npos;
}

void TextLineFile::check_length(std::size_t length) const {
  if (length > options_.max_line_bytes)
    fail(Code::resource_exhausted, name_, ":", line_, ": the line is longer than ",
         options_.max_line_bytes, " bytes (TextLineOptions::max_line_bytes)");
}

void TextLineFile::add(RecordRun& run, std::size_t end) const {
  if (end > 0 && window_.rest()[end - 1] == '\r') --end;
  if (run.count() == 0) {
    run.file = name_;
    run.first_record = line_;
  }
  window_.add_record(run, 0, end);
}

bool TextLineFile::read(RecordRun& run, const BlockLimits& limits) {
  std::size_t bytes = 0;
  while (run.count() < limits.records && (run.count() == 0 || bytes < limits.bytes)) {
    if (window_.offset() >= options_.range.end && !first_of_file()) break;
    auto end = find_end();
    const bool last = end == std::string_view::npos;
    if (last) {
      if (run.count() > 0) break;
      if (fill()) continue;
      end = window_.rest().size();
      if (end == 0) break;
    }
    if (end > options_.max_line_bytes && run.count() > 0) break;
    if (wanted()) {
      check_length(end);
      add(run, end);
      bytes += end + 1;
    }
    window_.consume(last ? end : end + 1);
    scanned_ = 0;
    ++line_;
  }
  return run.count() > 0;
}

FilesOptions files_of(const TextLineOptions& options) {
  return {options.files, options.allow_empty, options.policy};
}

}  // namespace

TextLineSource::TextLineSource(const TextLineOptions& options)
    : FilesSource(files_of(options), "lines",
                  [options](const std::string& path, const StreamPosition& at) {
                    return std::make_unique<TextLineFile>(options, path, at);
                  }),
      buffer_bytes_(options.buffer_bytes) {
  if (options.skip_header_lines < 0)
    fail(Code::invalid_argument, "skip_header_lines must be at least 0, not ",
         options.skip_header_lines);
  if (options.max_line_bytes < 1 || options.max_line_bytes > kMaxRecordBytes)
    fail(Code::invalid_argument, "max_line_bytes must be from 1 to ", kMaxRecordBytes, ", not ",
         options.max_line_bytes);
}

}  // namespace troupe
