#include "troupe/actors/readers/npy_source.h"

#include <algorithm>

#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

void swap_bytes(char* data, std::size_t bytes, std::size_t width) {
  for (std::size_t at = 0; at < bytes; at += width) std::reverse(data + at, data + at + width);
}

}  // namespace

NpySource::NpySource(NpyOptions options) : options_(std::move(options)) {
  files_ = expand_files(options_.files);
  for (const auto& path : files_) {
    if (path == "-")
      fail(Code::invalid_argument, "arrays are read from files, not from the standard input");
    if (options_.member.empty() && path.ends_with(".npz"))
      fail(Code::invalid_argument, path,
           " holds several arrays; say which one is to be read (NpyOptions::member)");
    const auto header = read_npy_header(path, options_.member);
    if (&path == &files_[0]) {
      header_ = header;
      continue;
    }
    if (header.dtype != header_.dtype || !(header.row == header_.row))
      fail(Code::invalid_argument, path, " holds rows of ", header.dtype, ' ', header.row, ", but ",
           files_[0], " of ", header_.dtype, ' ', header_.row);
    if (__builtin_add_overflow(header_.count, header.count, &header_.count))
      fail(Code::data_loss, path, ": the files promise more than 2^63 rows");
  }
  restart({});
}

void NpySource::restart(std::span<const std::size_t> order) {
  order_ = file_order(order, files_.size());
  stream_.reset();
  file_index_ = 0;
  any_ = false;
}

std::string NpySource::describe() const {
  const auto what = options_.member.empty() ? std::string() : "array '" + options_.member + "' in ";
  return "rows of " + what + describe_files(files_);
}

void NpySource::open_file() {
  stream_ = open_npy(path(), options_.member);
  open_ = read_npy_header(*stream_);
  next_ = 0;
  if (open_.dtype != header_.dtype || !(open_.row == header_.row))
    fail(Code::data_loss, path(), ": the file has changed since it was opened first");
}

bool NpySource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  streams.resize(1);
  auto& run = streams[0] = RecordRun();
  for (; file_index_ < files_.size(); ++file_index_, stream_.reset()) {
    if (!stream_) open_file();
    if (next_ == open_.count) continue;
    const auto row = static_cast<std::size_t>(open_.row_bytes());
    const auto fitting = std::max<std::size_t>(1, std::min(limits.bytes, kMaxRecordBytes) / row);
    const auto count = std::min({std::max<std::size_t>(1, limits.records), fitting,
                                 static_cast<std::size_t>(open_.count - next_)});
    run.bytes = record_buffer(count * row);
    auto* data = record_data(run.bytes);
    if (stream_->read_all(data, count * row) < count * row)
      fail(Code::data_loss, stream_->path(), ": the data end at byte ", stream_->offset(),
           ", in row ", 1 + (stream_->offset() - open_.header_bytes) / row, " of ", open_.count);
    if (open_.big_endian) swap_bytes(data, count * row, size_of(open_.dtype));
    for (std::size_t i = 0; i < count; ++i) {
      run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + i * row));
      run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + (i + 1) * row));
    }
    run.file = stream_->path();
    run.first_record = next_ + 1;
    next_ += static_cast<std::int64_t>(count);
    any_ = true;
    return true;
  }
  if (!any_ && !options_.allow_empty)
    fail(Code::invalid_argument, "0 records in ", describe(),
         " (NpyOptions::allow_empty if that is fine)");
  return false;
}

SourcePosition NpySource::position() const {
  StreamPosition at{.file = file_index_};
  if (stream_) {
    at.offset = stream_->offset();
    at.record = next_ + 1;
  }
  return {0, {at}};
}

void NpySource::seek(const SourcePosition& position) {
  const auto refuse = [&] {
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  };
  if (position.streams.size() != 1 || position.streams[0].file > files_.size()) refuse();
  const auto& at = position.streams[0];
  std::int64_t first = 0;
  if (at.record < 1 || __builtin_add_overflow(at.record - 1, at.skip, &first)) refuse();
  stream_.reset();
  any_ = true;  // before the position, as far as we know
  file_index_ = at.file;
  if (first == 0) return;
  if (file_index_ == files_.size()) refuse();
  open_file();
  if (first > open_.count)
    fail(Code::data_loss, path(), " has ", open_.count, " rows: cannot go on at ", position.str());
  stream_->seek(open_.header_bytes + static_cast<std::uint64_t>(first) * open_.row_bytes());
  next_ = first;
}

}  // namespace troupe
