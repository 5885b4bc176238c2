#include "troupe/actors/readers/idx_source.h"

#include <algorithm>
#include <span>

#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {

IdxSource::IdxSource(IdxOptions options) : options_(std::move(options)) {
  files_ = expand_files(options_.files);
  header_ = read_idx_header(files_[0]);
  for (const auto& path : std::span(files_).subspan(1)) {
    const auto other = read_idx_header(path);
    if (other.dtype != header_.dtype || !(other.item == header_.item))
      fail(Code::invalid_argument, path, " holds items of ", other.dtype, ' ', other.item, ", but ",
           files_[0], " of ", header_.dtype, ' ', header_.item);
  }
  restart({});
}

void IdxSource::restart(std::span<const std::size_t> order) {
  order_ = file_order(order, files_.size());
  file_.reset();
  file_index_ = 0;
  any_ = false;
}

std::string IdxSource::describe() const { return "items of " + describe_files(files_); }

void IdxSource::open_file() {
  file_ = std::make_unique<InputFile>(path());
  const auto header = read_idx_header(*file_);
  if (header.dtype != header_.dtype || !(header.item == header_.item))
    fail(Code::data_loss, path(), " has been changed: it holds items of ", header.dtype, ' ',
         header.item, ", but held ", header_.dtype, ' ', header_.item);
  items_ = header.count;
  next_ = 0;
}

bool IdxSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  streams.resize(1);
  auto& run = streams[0] = RecordRun();
  for (; file_index_ < files_.size(); ++file_index_, file_.reset()) {
    if (!file_) open_file();
    if (next_ == items_) continue;
    const auto item = static_cast<std::size_t>(header_.item_bytes());
    const auto fitting = std::max<std::size_t>(
        1, std::min(limits.bytes, kMaxRecordBytes) / std::max<std::size_t>(1, item));
    const auto count = std::min({std::max<std::size_t>(1, limits.records), fitting,
                                 static_cast<std::size_t>(items_ - next_)});
    run.bytes = record_buffer(count * item);
    if (file_->read(record_data(run.bytes), count * item) < count * item)
      fail(Code::data_loss, path(), ": the data ends at byte ", file_->offset(), ", in item ",
           1 + (file_->offset() - header_.header_bytes) / std::max<std::size_t>(1, item), " of ",
           items_);
    for (std::size_t i = 0; i < count; ++i) {
      run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + i * item));
      run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + (i + 1) * item));
    }
    run.file = path();
    run.first_record = next_ + 1;
    next_ += static_cast<std::int64_t>(count);
    any_ = true;
    return true;
  }
  if (!any_ && !options_.allow_empty)
    fail(Code::invalid_argument, "0 records in ", describe(),
         " (IdxOptions::allow_empty if that is fine)");
  return false;
}

SourcePosition IdxSource::position() const {
  StreamPosition at{.file = file_index_};
  if (file_) {
    at.offset = file_->offset();
    at.record = next_ + 1;
  }
  return {0, {at}};
}

void IdxSource::seek(const SourcePosition& position) {
  const auto refuse = [&] {
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  };
  if (position.streams.size() != 1 || position.streams[0].file > files_.size()) refuse();
  const auto& at = position.streams[0];
  std::int64_t first = 0;
  if (at.record < 1 || __builtin_add_overflow(at.record - 1, at.skip, &first)) refuse();
  file_.reset();
  any_ = true;
  file_index_ = at.file;
  if (first == 0) return;
  if (file_index_ == files_.size()) refuse();
  open_file();
  if (first > items_)
    fail(Code::data_loss, path(), " has ", items_, " items: cannot go on at ", position.str());
  file_->seek(header_.header_bytes + static_cast<std::uint64_t>(first) * header_.item_bytes());
  next_ = first;
}

}  // namespace troupe
