#include "troupe/actors/readers/csv_source.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "troupe/actors/readers/file_window.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"
#include "troupe/ops/simd/csv_kernels.h"

namespace troupe {
namespace {

constexpr std::size_t kMostAtOnce = 1024;  // records

std::int64_t count_lines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

/// "line 14, column 3" of a quote, in a text that begins in a line.
std::string where(const char* quote, const char* begin, std::int64_t line) {
  const auto* start = quote;
  while (start != begin && start[-1] != '\n') --start;
  return text("line ", line + std::count(begin, quote, '\n'), ", column ", quote - start + 1);
}

class CsvFile : public RecordFile {
 public:
  CsvFile(const CsvOptions& options, std::shared_ptr<CsvHeader> header, const std::string& path,
          const StreamPosition& at);

  bool read(RecordRun& run, const BlockLimits& limits) override;
  StreamPosition position() const override { return {.offset = window_.offset(), .record = line_}; }

 private:
  void start();
  void read_header();
  std::vector<std::string> names_of(const RecordRun& run) const;
  bool fill();
  /// Moves whole records from the window to the run; false when there are none.
  bool cut(RecordRun& run, const BlockLimits& limits);
  /// The ends of the next records in the rest of the file, as far as it is in memory.
  simd::CsvRecords find_ends(std::size_t most, std::size_t bytes);
  /// The same for a record without an end, at the end of the file.
  bool cut_last(RecordRun& run);
  /// Adds bytes [begin, end) of the rest, unless they are a blank line that is skipped.
  void add(RecordRun& run, std::size_t begin, std::size_t end) const;
  bool too_long(std::size_t bytes) const { return bytes > options_.max_record_bytes; }
  [[noreturn]] void record_too_long(std::size_t begin, std::size_t end) const;
  /// Bytes from the rest on in which our records start; the first record behind a byte
  /// order mark starts with the file.
  std::uint64_t bytes_left() const {
    if (line_ == 1 && options_.range.begin == 0) return options_.range.end;
    return options_.range.end - std::min(options_.range.end, window_.offset());
  }

  const CsvOptions options_;
  CsvSyntax ends_of_records_;  // their quotes count for where a record ends
  std::string name_;           // of the file, in places
  std::shared_ptr<CsvHeader> header_;
  FileWindow window_;
  std::int64_t line_ = 1;            // in which the rest begins
  std::vector<std::uint32_t> ends_;  // of records, in the rest
};

// ---- the start of a file ---------------------------------------------------------------------

CsvFile::CsvFile(const CsvOptions& options, std::shared_ptr<CsvHeader> header,
                 const std::string& path, const StreamPosition& at)
    : options_(options),
      ends_of_records_(options.syntax),
      name_(path),
      header_(std::move(header)),
      window_(path, options.compression, options.buffer_bytes) {
  ends_of_records_.quotes = ends_of_records_.quotes && options.quoted_newlines;
  expect_readable(options_.range, window_);
  if (options_.range.begin > 0) name_ = text(path, '@', options_.range.begin);
  if (at.offset == 0) {
    start();
  } else {
    window_.seek(at.offset);
    line_ = at.record;
  }
}

void CsvFile::start() {
  if (options_.range.begin > 0) return window_.seek_line(options_.range.begin);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  while (window_.rest().size() < kByteOrderMark.size() && window_.fill()) {
  }
  if (window_.rest().starts_with(kByteOrderMark)) window_.consume(kByteOrderMark.size());
  line_ += window_.skip_lines(options_.skip_lines);
  if (options_.header) read_header();
}

void CsvFile::read_header() {
  RecordRun run;
  if (!read(run, {.records = 1})) return;
  const auto names = names_of(run);
  const auto& first = header_->names;
  if (first.empty()) *header_ = {window_.path(), names};
  if (names == first) return;
  const auto wrong =
      static_cast<std::size_t>(std::ranges::mismatch(names, first).in1 - names.begin());
  const auto name = [wrong](const std::vector<std::string>& all) {
    return wrong < all.size() ? shown(all[wrong]) : std::string("missing");
  };
  fail(Code::data_loss, run.place(0), ": column #", wrong, " of the header is ", name(names),
       ", but ", header_->file, " has ", name(first), " there");
}

std::vector<std::string> CsvFile::names_of(const RecordRun& run) const {
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  std::vector<CsvField> fields;
  const auto split = split_csv({run.begin(0), run.end(0)}, options_.syntax, kAll, kAll, fields);
  if (split.fault != CsvFault::none)
    fail(Code::data_loss, run.place(0), ":", split.at - run.begin(0) + 1, ": column #",
         split.fields, " of the header: ", explain(split.fault));
  if (options_.syntax.trailing_delimiter && fields.size() > 1 &&
      fields.back().begin == fields.back().end)
    fields.pop_back();
  if (fields.empty())
    fail(Code::data_loss, run.place(0), ": the header is a blank line (CsvOptions::header)");
  std::vector<std::string> names;
  std::string scratch;
  for (const auto& field : fields) names.emplace_back(field.value(scratch));
  return names;
}

// ---- records ---------------------------------------------------------------------------------

bool CsvFile::read(RecordRun& run, const BlockLimits& limits) {
  while (bytes_left() > 0) {
    if (cut(run, limits)) return true;
    if (!fill()) return cut_last(run);
  }
  return false;
}

bool CsvFile::fill() {
  if (const auto size = window_.rest().size(); too_long(size)) record_too_long(0, size);
  return window_.fill();
}

void CsvFile::record_too_long(std::size_t begin, std::size_t end) const {
  const auto rest = window_.rest();
  const auto line = line_ + count_lines(rest.substr(0, begin));
  CsvScanner scanner(ends_of_records_);
  scanner.find_end(rest.data() + begin, rest.data() + end);
  const auto why = scanner.quoted() ? text(": a quote is open since ",
                                           where(scanner.opened(), rest.data() + begin, line))
                                    : std::string();
  fail(Code::resource_exhausted, name_, ":", line, ": the record is longer than ",
       options_.max_record_bytes, " bytes (CsvOptions::max_record_bytes)", why);
}

void CsvFile::add(RecordRun& run, std::size_t begin, std::size_t end) const {
  const auto rest = window_.rest();
  if (end > begin && rest[end - 1] == '\r') --end;
  if (end == begin && options_.skip_blank_lines) return;
  if (run.count() == 0) {
    run.file = name_;
    run.first_record = line_ + count_lines(rest.substr(0, begin));
    run.by_lines = true;
  }
  window_.add_record(run, begin, end);
}

simd::CsvRecords CsvFile::find_ends(std::size_t most, std::size_t bytes) {
  static const auto find_records = TROUPE_PICK(find_csv_records);
  const auto rest = window_.rest();
  const auto* const begin = rest.data();
  const auto* const end = begin + rest.size();
  most = std::min(most, kMostAtOnce);
  ends_.resize(kMostAtOnce + simd::kCsvSlack);
  auto found =
      find_records(begin, end, ends_of_records_.delimiter, ends_of_records_.quotes,
                   static_cast<std::int64_t>(most),
                   static_cast<std::int64_t>(std::min(bytes, kMaxRecordBytes)), ends_.data());
  if (found.count > 0 || !found.irregular) return found;
  CsvScanner scanner(ends_of_records_);
  if (const auto* newline = scanner.find_end(begin, end)) {
    ends_[0] = static_cast<std::uint32_t>(newline - begin);
    found.count = 1;
    found.lines = std::count(begin, newline, '\n') + 1;
  }
  return found;
}

bool CsvFile::cut(RecordRun& run, const BlockLimits& limits) {
  std::size_t bytes = 0;
  while (run.count() < limits.records && bytes < limits.bytes && bytes_left() > 0) {
    // The last one of ours ends with the byte in front of the range's end, or behind it.
    const auto found = find_ends(limits.records - run.count(),
                                 std::min<std::uint64_t>(limits.bytes - bytes, bytes_left() - 1));
    std::size_t begin = 0;
    bool whole = found.count > 0;
    for (std::int64_t i = 0; i < found.count && whole; ++i) {
      const std::size_t end = ends_[static_cast<std::size_t>(i)];
      if (!too_long(end - begin)) {
        add(run, begin, end);
        begin = end + 1;
      } else if (run.count() == 0) {
        record_too_long(begin, end);
      } else {
        whole = false;  // those in front of it come first
      }
    }
    line_ += whole ? found.lines : count_lines(window_.rest().substr(0, begin));
    window_.consume(begin);
    if (run.count() > 0) bytes += begin;
    if (!whole) break;
  }
  return run.count() > 0;
}

bool CsvFile::cut_last(RecordRun& run) {
  const auto rest = window_.rest();
  CsvScanner scanner(ends_of_records_);
  scanner.find_end(rest.data(), rest.data() + rest.size());
  if (scanner.quoted())
    fail(Code::data_loss, name_, ":", line_,
         ": the file ends inside of a quoted field: the quote in ",
         where(scanner.opened(), rest.data(), line_), " is never closed");
  if (!rest.empty()) add(run, 0, rest.size());
  line_ += count_lines(rest) + 1;
  window_.consume(rest.size());
  return run.count() > 0;
}

}  // namespace

// ---- all files -------------------------------------------------------------------------------

CsvSource::CsvSource(const CsvOptions& options)
    : CsvSource(options, std::make_shared<CsvHeader>()) {}

CsvSource::CsvSource(const CsvOptions& options, std::shared_ptr<CsvHeader> header)
    : FilesSource({options.files, options.allow_empty, options.policy}, "CSV records",
                  [options, header](const std::string& path, const StreamPosition& at) {
                    return std::make_unique<CsvFile>(options, header, path, at);
                  }),
      buffer_bytes_(options.buffer_bytes),
      header_(std::move(header)) {
  check(options.syntax);
  if (!options.range.whole() && options.syntax.quotes && options.quoted_newlines)
    fail(Code::invalid_argument, "CSV records cannot be read in ranges of bytes while fields in ",
         "quotes may hold ends of lines: nobody knows whether a byte is inside of quotes. If none ",
         "does, say so (CsvOptions::quoted_newlines = false); otherwise write several files");
  if (options.skip_lines < 0)
    fail(Code::invalid_argument, "skip_lines must be at least 0, not ", options.skip_lines,
         " (CsvOptions)");
  if (options.max_record_bytes < 1 || options.max_record_bytes > kMaxRecordBytes)
    fail(Code::invalid_argument, "max_record_bytes must be from 1 to ", kMaxRecordBytes, ", not ",
         options.max_record_bytes, " (CsvOptions)");
}

}  // namespace troupe
