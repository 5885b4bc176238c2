#include "troupe/actors/readers/csv_source.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"
#include "troupe/ops/simd/csv_kernels.h"

namespace troupe {
namespace {

constexpr std::size_t kMostAtOnce = 1024;  // records

std::string where_opened(const CsvScanner& scanner, const char* begin, std::int64_t line) {
  const auto* quote = scanner.opened();
  const auto* start = quote;
  while (start != begin && start[-1] != '\n') --start;
  return text("line ", line + std::count(begin, quote, '\n'), ", column ", quote - start + 1);
}

}  // namespace

CsvSource::CsvSource(CsvOptions options) : options_(std::move(options)) {
  check(options_.syntax);
  if (options_.skip_lines < 0)
    fail(Code::invalid_argument, "skip_lines must be at least 0, not ", options_.skip_lines,
         " (CsvOptions)");
  if (options_.max_record_bytes < 1 || options_.max_record_bytes > kMaxRecordBytes)
    fail(Code::invalid_argument, "max_record_bytes must be from 1 to ", kMaxRecordBytes, ", not ",
         options_.max_record_bytes, " (CsvOptions)");
  options_.buffer_bytes = std::clamp<std::size_t>(options_.buffer_bytes, 1, kMaxRecordBytes);
  files_ = expand_files(options_.files);
  restart({});
  if (options_.header) {
    open_file();
    close_file();
  }
}

void CsvSource::restart(std::span<const std::size_t> order) {
  order_ = file_order(order, files_.size());
  close_file();
  file_index_ = 0;
  any_ = false;
}

std::string CsvSource::describe() const { return "CSV records of " + describe_files(files_); }

// ---- files -----------------------------------------------------------------------------------

void CsvSource::open_file() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  file_ = std::make_unique<InputFile>(path());
  line_ = 1;
  fill();
  if (std::string_view(data_, end_).starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
  skip_lines();
  if (!options_.header) return;
  const auto line = line_;
  auto names = read_header();
  if (header_.empty())
    header_ = std::move(names);
  else
    expect_header(names, line);
}

void CsvSource::close_file() {
  file_.reset();
  buffer_ = Tensor();
  data_ = nullptr;
  begin_ = end_ = 0;
}

void CsvSource::skip_lines() {
  for (auto left = options_.skip_lines; left > 0;) {
    const auto* newline =
        static_cast<const char*>(std::memchr(data_ + begin_, '\n', end_ - begin_));
    if (newline != nullptr) {
      begin_ = static_cast<std::size_t>(newline - data_) + 1;
      ++line_;
      --left;
    } else {
      begin_ = end_;
      if (!fill()) return;
    }
  }
}

std::vector<std::string> CsvSource::read_header() {
  const auto line = line_;
  RecordRun run;
  if (!read_run(run, {.records = 1}))
    fail(Code::data_loss, path(), ":", line, ": the file has no header (CsvOptions::header)");
  std::vector<CsvField> fields;
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  const auto split = split_csv({run.begin(0), run.end(0)}, options_.syntax, kAll, kAll, fields);
  if (split.fault != CsvFault::none)
    fail(Code::data_loss, path(), ":", line, ":", split.at - run.begin(0) + 1, ": column #",
         split.fields, " of the header: ", explain(split.fault));
  if (options_.syntax.trailing_delimiter && fields.size() > 1 &&
      fields.back().begin == fields.back().end)
    fields.pop_back();
  std::vector<std::string> names;
  std::string scratch;
  for (const auto& field : fields) names.emplace_back(field.value(scratch));
  if (names.empty())
    fail(Code::data_loss, path(), ":", line, ": the header is a blank line (CsvOptions::header)");
  return names;
}

void CsvSource::expect_header(const std::vector<std::string>& found, std::int64_t line) const {
  if (found == header_) return;
  const auto wrong =
      static_cast<std::size_t>(std::ranges::mismatch(found, header_).in1 - found.begin());
  const auto name = [&](const std::vector<std::string>& names) {
    return wrong < names.size() ? shown(names[wrong]) : std::string("missing");
  };
  fail(Code::data_loss, path(), ":", line, ": column #", wrong, " of the header is ", name(found),
       ", but ", files_[0], " has ", name(header_), " there");
}

void CsvSource::next_file() {
  close_file();
  ++file_index_;
}

// ---- records ---------------------------------------------------------------------------------

void CsvSource::record_too_long(std::int64_t line, std::size_t begin, std::size_t end) const {
  CsvScanner scanner(options_.syntax);
  scanner.find_end(data_ + begin, data_ + end);
  const auto why = scanner.quoted() ? text(": a quote is open since ",
                                           where_opened(scanner, data_ + begin, line))
                                    : std::string();
  fail(Code::resource_exhausted, path(), ":", line, ": the record is longer than ",
       options_.max_record_bytes, " bytes (CsvOptions::max_record_bytes)", why);
}

bool CsvSource::fill() {
  const auto kept = end_ - begin_;
  if (kept > options_.max_record_bytes) record_too_long(line_, begin_, end_);
  // An unfinished record larger than half of the buffer makes it grow, so that
  // records are not searched for their end more than a few times.
  const auto capacity = std::max(options_.buffer_bytes, 2 * kept);
  auto buffer = record_buffer(capacity);
  auto* data = record_data(buffer);
  if (kept > 0) std::memcpy(data, data_ + begin_, kept);
  const auto got = file_->read(data + kept, capacity - kept);
  begin_ = 0;
  end_ = kept + got;
  data_ = data;
  buffer_ = std::move(buffer);
  return got > 0;
}

void CsvSource::add(RecordRun& run, std::size_t begin, std::size_t end) {
  if (end - begin > options_.max_record_bytes)
    record_too_long(line_ + std::count(data_ + begin_, data_ + begin, '\n'), begin, end);
  if (end > begin && data_[end - 1] == '\r') --end;
  if (end == begin && options_.skip_blank_lines) return;
  if (run.count() == 0) run.first_record = line_ + std::count(data_ + begin_, data_ + begin, '\n');
  run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + begin));
  run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + end));
}

bool CsvSource::cut(RecordRun& run, const BlockLimits& limits) {
  static const auto find_records = TROUPE_PICK(find_csv_records);
  ends_.resize(kMostAtOnce + simd::kCsvSlack);
  auto first = begin_;
  while (run.count() < limits.records && begin_ - first < limits.bytes) {
    const auto most = std::min(limits.records - run.count(), kMostAtOnce);
    const auto bytes = std::min(limits.bytes - (begin_ - first), kMaxRecordBytes);
    const auto found = find_records(data_ + begin_, data_ + end_, options_.syntax.delimiter,
                                    options_.syntax.quotes, static_cast<std::int64_t>(most),
                                    static_cast<std::int64_t>(bytes), ends_.data());
    auto begin = begin_;
    for (std::int64_t i = 0; i < found.count; ++i) {
      const auto end = begin_ + ends_[static_cast<std::size_t>(i)];
      add(run, begin, end);
      begin = end + 1;
    }
    begin_ = begin;
    line_ += found.lines;
    if (found.count == 0 && !(found.irregular && cut_one(run))) break;
    if (run.count() == 0) first = begin_;  // blank lines do not count
  }
  return run.count() > 0;
}

bool CsvSource::cut_one(RecordRun& run) {
  CsvScanner scanner(options_.syntax);
  const auto* const begin = data_ + begin_;
  const auto* const found = scanner.find_end(begin, data_ + end_);
  if (found == nullptr) return false;
  const auto end = static_cast<std::size_t>(found - data_);
  add(run, begin_, end);
  line_ += std::count(begin, found, '\n') + 1;
  begin_ = end + 1;
  return true;
}

bool CsvSource::cut_last(RecordRun& run) {
  if (begin_ == end_) return false;
  CsvScanner scanner(options_.syntax);
  scanner.find_end(data_ + begin_, data_ + end_);
  if (scanner.quoted())
    fail(Code::data_loss, path(), ":", line_,
         ": the file ends inside of a quoted field: the quote in ",
         where_opened(scanner, data_ + begin_, line_), " is never closed");
  add(run, begin_, end_);
  line_ += std::count(data_ + begin_, data_ + end_, '\n') + 1;
  begin_ = end_;
  return run.count() > 0;
}

bool CsvSource::read_run(RecordRun& run, const BlockLimits& limits) {
  const auto found = [&] {
    while (!cut(run, limits))
      if (!fill()) return cut_last(run);
    return true;
  }();
  if (!found) return false;
  run.bytes = buffer_;
  run.file = path();
  run.by_lines = true;
  return true;
}

bool CsvSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  streams.resize(1);
  auto& run = streams[0] = RecordRun();
  for (; file_index_ < files_.size(); next_file()) {
    if (!file_) open_file();
    if (read_run(run, limits)) {
      any_ = true;
      return true;
    }
  }
  if (!any_ && !options_.allow_empty)
    fail(Code::invalid_argument, "0 records in ", describe(),
         " (CsvOptions::allow_empty if that is fine)");
  return false;
}

// ---- position --------------------------------------------------------------------------------

SourcePosition CsvSource::position() const {
  StreamPosition at{.file = file_index_};
  if (file_) {
    at.offset = file_->offset() - (end_ - begin_);
    at.record = line_;
  }
  return {0, {at}};
}

void CsvSource::seek(const SourcePosition& position) {
  if (position.streams.size() != 1 || position.streams[0].file > files_.size() ||
      position.streams[0].record < 1)
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  const auto& at = position.streams[0];
  close_file();
  any_ = true;  // before the position, as far as we know
  file_index_ = at.file;
  if (at.offset > 0) {
    if (file_index_ == files_.size())
      fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
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
