#include "troupe/actors/readers/labelled_file_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "troupe/actors/readers/input_file.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/actors/system_error.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// Makes a run, record by record, in a buffer of a known size.
class RunWriter {
 public:
  explicit RunWriter(std::size_t bytes) { run_.bytes = record_buffer(bytes); }

  /// Room for the next record.
  char* add(std::size_t bytes, const std::string& file, std::int64_t number) {
    const auto index = static_cast<std::uint32_t>(run_.count());
    if (index == 0) {
      run_.file = file;
      run_.first_record = number;
    } else {
      run_.jumps.push_back({index, file, number});
    }
    auto* to = record_data(run_.bytes) + used_;
    run_.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + used_));
    used_ += bytes;
    run_.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + used_));
    return to;
  }
  /// Takes the last one back.
  void drop() {
    used_ -= run_.ends.back() - run_.begins.back();
    run_.begins.pop_back();
    run_.ends.pop_back();
    if (!run_.jumps.empty()) run_.jumps.pop_back();
  }
  std::size_t count() const { return run_.count(); }
  RecordRun take() { return std::move(run_); }

 private:
  RecordRun run_;
  std::size_t used_ = 0;
};

}  // namespace

LabelledFileSource::LabelledFileSource(LabelledFileOptions options) : options_(std::move(options)) {
  if (!options_.files || options_.files->files.empty())
    fail(Code::invalid_argument, "a reader needs at least one file");
  if (!options_.policy.report) options_.policy.report = std::make_shared<FileReport>();
  options_.max_file_bytes = std::min(options_.max_file_bytes, kMaxRecordBytes);
  std::unordered_map<std::string_view, std::int64_t> seen;
  for (const auto& file : options_.files->files) {
    const auto mention = ++seen[file.path];
    mentions_.push_back(mention == 1 ? 0 : mention);
  }
  restart({});
}

void LabelledFileSource::restart(std::span<const std::size_t> order) {
  order_ = file_order(order, file_count());
  next_ = 0;
  any_ = false;
}

std::size_t LabelledFileSource::size_of_file(std::size_t i) const {
  const auto& path = file(i).path;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) system_error("read", path);
  if (!S_ISREG(info.st_mode)) fail(Code::invalid_argument, "cannot read ", path, ": it is no file");
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes > options_.max_file_bytes)
    fail(Code::resource_exhausted, path, ": the file has ", bytes, " bytes, but at most ",
         options_.max_file_bytes, " are read (LabelledFileOptions::max_file_bytes)");
  return bytes;
}

void LabelledFileSource::read_file(std::size_t i, char* to, std::size_t bytes) const {
  InputFile input(file(i).path);
  if (input.read(to, bytes) != bytes || input.size() != bytes)
    fail(Code::data_loss, file(i).path, ": the file had ", bytes, " bytes, and then another size");
}

bool LabelledFileSource::leave_out(std::size_t i, const Error& error, bool records_first) const {
  try {
    options_.policy.handle(error, file(i).path, true);
    return true;
  } catch (const Error&) {
    if (!records_first) throw;
    return false;  // the next call comes back to it
  }
}

std::vector<LabelledFileSource::Planned> LabelledFileSource::plan(const BlockLimits& limits) {
  const auto most = std::max<std::size_t>(1, limits.records);
  std::vector<Planned> files;
  std::size_t total = 0;
  for (; next_ < order_.size() && files.size() < most; ++next_) {
    std::size_t bytes = 0;
    try {
      bytes = size_of_file(next_);
    } catch (const Error& error) {
      if (leave_out(next_, error, !files.empty())) continue;
      break;
    }
    const bool empty = bytes == 0;
    if (!files.empty() &&
        (empty ? options_.policy.empty == FileAction::fail : total + bytes > limits.bytes))
      break;  // the next call comes back to it
    if (empty)
      options_.policy.handle_empty(file(next_).path);
    else
      files.push_back({next_, bytes});
    total += bytes;
  }
  return files;
}

bool LabelledFileSource::read_planned(const std::vector<Planned>& planned,
                                      std::vector<RecordRun>& streams) {
  std::size_t file_bytes = 0;
  std::size_t label_bytes = 0;
  for (const auto& [i, bytes] : planned) {
    file_bytes += bytes;
    label_bytes += file(i).label.size();
  }
  RunWriter files(file_bytes);
  RunWriter labels(label_bytes);
  for (const auto& [i, bytes] : planned) {
    const auto& f = file(i);
    const auto mention = mentions_[order_[i]];
    auto* const to = files.add(bytes, f.path, mention);
    try {
      read_file(i, to, bytes);
    } catch (const Error& error) {
      files.drop();
      if (leave_out(i, error, files.count() > 0)) continue;
      next_ = i;
      break;
    }
    std::ranges::copy(f.label, labels.add(f.label.size(), f.origin, f.line > 0 ? f.line : mention));
  }
  if (files.count() == 0) return false;
  streams.push_back(files.take());
  streams.push_back(labels.take());
  return true;
}

bool LabelledFileSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  streams.clear();
  while (next_ < order_.size())
    if (read_planned(plan(limits), streams)) return any_ = true;
  if (!any_ && !options_.allow_empty) {
    const auto left_out = report();
    fail(Code::invalid_argument, "0 records in ", describe(), left_out.empty() ? "" : ": ",
         left_out, " (LabelledFileOptions::allow_empty if that is fine)");
  }
  return false;
}

SourcePosition LabelledFileSource::position() const { return {0, {{.file = next_, .record = 0}}}; }

void LabelledFileSource::seek(const SourcePosition& position) {
  const auto& streams = position.streams;
  if (streams.size() != 1 || streams[0].file > order_.size() ||
      streams[0].skip > order_.size() - streams[0].file)
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  next_ = streams[0].file;
  any_ = true;  // before the position, as far as we know
  skip_records(*this, streams[0].skip);
}

}  // namespace troupe
