#include "troupe/actors/readers/array_source.h"

#include <utility>

#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

void swap_bytes(char* data, std::size_t bytes, std::size_t width) {
  if (width == 1) return;
  for (std::size_t at = 0; at < bytes; at += width) std::reverse(data + at, data + at + width);
}

class ArrayFile : public RecordFile {
 public:
  ArrayFile(OpenArray array, const StreamPosition& at)
      : header_(array.header), stream_(std::move(array.stream)), next_(at.record - 1) {
    if (next_ == 0) return;
    if (next_ > header_.count)
      fail(Code::data_loss, stream_->path(), " has ", header_.count,
           " items: cannot go on at number ", at.record);
    stream_->seek(header_.header_bytes + static_cast<std::uint64_t>(next_) * header_.item_bytes());
  }

  bool read(RecordRun& run, const BlockLimits& limits) override;
  StreamPosition position() const override {
    return {.offset = stream_->offset(), .record = next_ + 1};
  }

 private:
  ArrayHeader header_;
  std::unique_ptr<ByteStream> stream_;
  std::int64_t next_;       // from 0
  bool cut_short_ = false;  // the stream ended inside of an item
};

bool ArrayFile::read(RecordRun& run, const BlockLimits& limits) {
  if (next_ == header_.count) return false;
  const auto item = static_cast<std::size_t>(header_.item_bytes());
  const auto fitting = std::max<std::size_t>(1, std::min(limits.bytes, kMaxRecordBytes) / item);
  const auto wanted =
      item * std::min({limits.records, fitting, static_cast<std::size_t>(header_.count - next_)});
  run.bytes = record_buffer(wanted);
  auto* data = record_data(run.bytes);
  const auto got = cut_short_ ? 0 : stream_->read(data, wanted);
  const auto whole = got / item;
  cut_short_ = got < wanted;  // those in front of it come first
  if (whole == 0) {
    stream_->read(data, 1);  // throws if the bytes are damaged
    fail(Code::data_loss, stream_->path(), ": the data end at byte ", stream_->offset(),
         ", in item ", next_ + 1, " of ", header_.count);
  }
  if (header_.big_endian) swap_bytes(data, whole * item, size_of(header_.dtype));
  for (std::size_t i = 0; i < whole; ++i) {
    run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + i * item));
    run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + (i + 1) * item));
  }
  run.file = stream_->path();
  run.first_record = next_ + 1;
  next_ += static_cast<std::int64_t>(whole);
  return true;
}

}  // namespace

ArraySource::ArraySource(const FilesOptions& options, const ArrayFormat& format)
    : ArraySource(options, format, std::make_shared<ArrayHeader>()) {}

ArraySource::ArraySource(const FilesOptions& options, const ArrayFormat& format,
                         std::shared_ptr<ArrayHeader> header)
    : FilesSource(options, format.noun,
                  [open = format.open, header](const std::string& path, const StreamPosition& at) {
                    auto array = open(path);
                    if (!array.header.same_items(*header))
                      fail(Code::data_loss, path, " has been changed: it holds items of ",
                           array.header.dtype, ' ', array.header.item, ", but held ", header->dtype,
                           ' ', header->item);
                    return std::make_unique<ArrayFile>(std::move(array), at);
                  }),
      header_(std::move(header)) {
  std::string first;
  for_each_file([&](const std::string& path) {
    const auto next = format.open(path).header;
    if (first.empty()) {
      first = path;
      *header_ = next;
    } else if (!next.same_items(*header_)) {
      fail(Code::invalid_argument, path, " holds items of ", next.dtype, ' ', next.item, ", but ",
           first, " of ", header_->dtype, ' ', header_->item);
    } else if (__builtin_add_overflow(header_->count, next.count, &header_->count)) {
      fail(Code::data_loss, path, ": the files promise more than 2^63 items");
    }
  });
}

}  // namespace troupe
