#include "troupe/actors/readers/files_source.h"

#include <utility>

#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/record_run.h"
#include "troupe/ops/error.h"

namespace troupe {

FilesSource::FilesSource(FilesOptions options, std::string noun, RecordFileOpener open)
    : options_(std::move(options)), noun_(std::move(noun)), open_(std::move(open)) {
  if (!options_.policy.report) options_.policy.report = std::make_shared<FileReport>();
  files_ = expand_files(options_.files, options_.policy);
  restart({});
}

void FilesSource::restart(std::span<const std::size_t> order) {
  order_ = file_order(order, files_.size());
  file_.reset();
  file_index_ = 0;
  file_has_records_ = any_ = false;
  failure_ = nullptr;
}

std::string FilesSource::describe() const {
  return files_.empty() ? noun_ + " of 0 files" : noun_ + " of " + describe_files(files_);
}

void FilesSource::for_each_file(const std::function<void(const std::string&)>& look) const {
  for (const auto& file : files_) {
    try {
      look(file);
    } catch (const Error& error) {
      options_.policy.handle(error, file, false);
    }
  }
}

void FilesSource::open_file(const StreamPosition& at) {
  if (path() == "-" && std::exchange(standard_input_used_, true))
    fail(Code::failed_precondition, "the standard input can be read only once (one epoch, once in ",
         "the list of files)");
  file_ = open_(path(), at);
}

void FilesSource::next_file() {
  file_.reset();
  file_has_records_ = false;
  ++file_index_;
}

bool FilesSource::read_file(RecordRun& run, const BlockLimits& limits) {
  try {
    if (!file_) open_file({});
    if (file_->read(run, limits)) {
      if (run.file.empty()) run.file = path();
      file_has_records_ = any_ = true;
      return true;
    }
  } catch (const Error& error) {
    options_.policy.handle(error, path(), file_ != nullptr);
    return false;
  }
  if (!file_has_records_) options_.policy.handle_empty(path());
  return false;
}

bool FilesSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  if (failure_) std::rethrow_exception(failure_);
  RunCollector collector(limits);
  try {
    while (file_index_ < files_.size() && collector.room().records > 0) {
      RecordRun run;
      if (read_file(run, collector.room()))
        collector.add(std::move(run));
      else if (limits.within_piece)
        break;
      else
        next_file();
      if (!collector.empty() && !limits.cross_files) break;
    }
  } catch (const Error&) {
    if (collector.empty()) throw;
    failure_ = std::current_exception();  // behind the records that came before it
  }
  streams.resize(1);
  streams[0] = collector.take();
  if (streams[0].count() > 0) return true;
  if (!any_ && !options_.allow_empty && !limits.within_piece) {
    const auto left_out = report();
    fail(Code::invalid_argument, "0 records in ", describe(), left_out.empty() ? "" : ": ",
         left_out, " (allow_empty if that is fine)");
  }
  return false;
}

SourcePosition FilesSource::position() const {
  auto at = file_ ? file_->position() : StreamPosition();
  at.file = file_index_;
  return {0, {at}};
}

std::uint64_t FilesSource::piece_of(const SourcePosition& position) const {
  if (position.streams.size() != 1)
    fail(Code::data_loss, "not a position in ", describe(), ": ", position.str());
  return position.streams[0].file;
}

void FilesSource::seek(const SourcePosition& position) {
  constexpr auto kMostRecords = std::int64_t{1} << 62;
  if (position.streams.size() != 1 || position.streams[0].file > files_.size() ||
      position.streams[0].record < 1 || position.streams[0].record > kMostRecords)
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  const auto& at = position.streams[0];
  const bool inside = at.offset > 0 || at.record > 1;
  if (inside && at.file == files_.size())
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  file_.reset();
  file_index_ = at.file;
  if (inside) open_file(at);
  file_has_records_ = inside;
  any_ = true;  // before the position, as far as we know
  failure_ = nullptr;
  skip_records(*this, at.skip);
}

}  // namespace troupe
