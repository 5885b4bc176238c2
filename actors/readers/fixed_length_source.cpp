#include "troupe/actors/readers/fixed_length_source.h"

#include <algorithm>
#include <initializer_list>

#include "troupe/actors/readers/file_window.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

class FixedLengthFile : public RecordFile {
 public:
  FixedLengthFile(const FixedLengthOptions& options, const std::string& path,
                  const StreamPosition& at)
      : options_(options),
        window_(path, options.compression, options.buffer_bytes),
        hop_(options.hop_bytes == 0 ? options.record_bytes : options.hop_bytes) {
    expect_readable(options_.range, window_);
    if (at.record > 1) {
      window_.seek(at.offset);
      next_ = at.record;
    } else if (options_.range.begin > options_.header_bytes) {
      start_inside();
    } else {
      skip_header();
    }
  }

  bool read(RecordRun& run, const BlockLimits& limits) override;
  StreamPosition position() const override { return {.offset = window_.offset(), .record = next_}; }

 private:
  void skip_header();
  /// At the first record of the range, as if those in front of it had been read.
  void start_inside();
  void expect_whole_end() const;

  // The rest of the window begins where the last record ends, or with the next one if
  // that is earlier.
  std::size_t gap() const {
    return next_ > 1 && hop_ > options_.record_bytes ? hop_ - options_.record_bytes : 0;
  }
  bool in_range() const { return window_.offset() + gap() < options_.range.end; }

  const FixedLengthOptions options_;
  FileWindow window_;
  std::size_t hop_;
  std::int64_t next_ = 1;  // number of the next record
  bool empty_ = false;     // not even a header, or nothing in the range
};

void FixedLengthFile::skip_header() {
  const auto header = options_.header_bytes;
  while (window_.rest().size() < std::max<std::size_t>(1, header) && window_.fill(header)) {
  }
  empty_ = window_.rest().empty();
  if (!empty_ && window_.rest().size() < header)
    fail(Code::data_loss, window_.path(), ": the file has ", window_.rest().size(),
         " bytes, fewer than its header of ", header, " (FixedLengthOptions::header_bytes)");
  if (!empty_) window_.consume(header);
}

void FixedLengthFile::start_inside() {
  const auto first = 1 + (options_.range.begin - options_.header_bytes - 1) / hop_;
  next_ = static_cast<std::int64_t>(first) + 1;
  const auto size = *window_.size();
  const auto needed = options_.header_bytes + options_.record_bytes + options_.footer_bytes;
  const auto records = size < needed ? 0 : 1 + (size - needed) / hop_;
  empty_ = first > records;  // what may be wrong at the end is told where it begins
  window_.seek(empty_ ? size : options_.header_bytes + first * hop_ - gap());
}

void FixedLengthFile::expect_whole_end() const {
  const auto record = options_.record_bytes;
  const auto footer = options_.footer_bytes;
  const auto rest = window_.rest().size();
  // The tail of the last record, when records overlap, or a part of the gap behind it.
  const auto slack = next_ == 1 ? 0 : std::max(hop_, record) - std::min(hop_, record);
  if (empty_ || (rest >= footer && rest - footer <= slack)) return;
  fail(Code::data_loss, window_.path(), ": ends with a part of a record: record ", next_,
       " should begin at byte ", window_.offset() + gap(), " and have ", record, " bytes",
       footer > 0 ? text(", before a footer of ", footer) : std::string(),
       ", but the file ends at ", window_.offset() + rest);
}

bool FixedLengthFile::read(RecordRun& run, const BlockLimits& limits) {
  const auto record = options_.record_bytes;
  while (run.count() < limits.records &&
         (run.count() == 0 || run.count() * record < limits.bytes) && in_range()) {
    const auto needed = gap() + record + options_.footer_bytes;
    if (window_.rest().size() < needed) {
      if (run.count() > 0) break;
      if (window_.fill(needed)) continue;
      expect_whole_end();
      break;
    }
    window_.consume(gap());
    if (run.count() == 0) run.first_record = next_;
    window_.add_record(run, 0, record);
    window_.consume(std::min(hop_, record));
    ++next_;
  }
  return run.count() > 0;
}

}  // namespace

FixedLengthSource::FixedLengthSource(const FixedLengthOptions& options)
    : FilesSource({options.files, options.allow_empty, options.policy},
                  text("records of ", options.record_bytes, " bytes"),
                  [options](const std::string& path, const StreamPosition& at) {
                    return std::make_unique<FixedLengthFile>(options, path, at);
                  }) {
  if (options.record_bytes < 1)
    fail(Code::invalid_argument, "record_bytes must be at least 1, not 0 (FixedLengthOptions)");
  for (const auto bytes :
       {options.record_bytes, options.header_bytes, options.footer_bytes, options.hop_bytes})
    if (bytes > kMaxRecordBytes / 4)
      fail(Code::invalid_argument, "the sizes of fixed-length records may be up to ",
           kMaxRecordBytes / 4, " bytes, not ", bytes, " (FixedLengthOptions)");
}

}  // namespace troupe
