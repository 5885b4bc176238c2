#include "troupe/actors/readers/tfrecord_source.h"

#include "troupe/actors/readers/file_window.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/actors/readers/tfrecord_format.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// What a file seems to be that is no TFRecord file, as far as its first bytes tell.
std::string guess(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return "; it looks like gzip (TFRecordOptions::compression)";
  if (bytes.starts_with("\x78\x01") || bytes.starts_with("\x78\x9c") ||
      bytes.starts_with("\x78\xda") || bytes.starts_with("\x78\x5e"))
    return "; it looks like zlib (TFRecordOptions::compression)";
  return {};
}

class TFRecordFile : public RecordFile {
 public:
  TFRecordFile(const TFRecordOptions& options, const std::string& path, const StreamPosition& at)
      : check_data_(options.check_data),
        max_bytes_(options.max_record_bytes),
        window_(path, options.compression, options.buffer_bytes) {
    if (at.offset > 0) {
      window_.seek(at.offset);
      next_ = at.record;
    }
  }

  bool read(RecordRun& run, const BlockLimits& limits) override;
  StreamPosition position() const override { return {.offset = window_.offset(), .record = next_}; }

 private:
  template <class... Parts>
  [[noreturn]] void damaged(Code code, const Parts&... parts) const {
    fail(code, window_.path(), ":", next_, ": the record at byte ", window_.offset(), ' ',
         parts...);
  }

  bool check_data_;
  std::size_t max_bytes_;
  FileWindow window_;
  std::int64_t next_ = 1;  // number of the next record
};

bool TFRecordFile::read(RecordRun& run, const BlockLimits& limits) {
  std::size_t bytes = 0;
  while (run.count() < limits.records && (run.count() == 0 || bytes < limits.bytes)) {
    const auto rest = window_.rest();
    if (rest.size() < kTFRecordHeader) {
      if (run.count() > 0) break;
      if (window_.fill()) continue;
      if (rest.empty()) break;
      damaged(Code::data_loss, "is cut short: the file ends after ", rest.size(),
              " bytes of its header");
    }
    const auto [length, good] = read_tfrecord_header(rest.data());
    const auto whole = kTFRecordHeader + length + kTFRecordFooter;
    const bool here = good && length <= max_bytes_ && rest.size() >= whole;
    if (here && (!check_data_ || check_tfrecord(rest.substr(kTFRecordHeader, length)))) {
      if (run.count() == 0) run.first_record = next_;
      window_.add_record(run, kTFRecordHeader, kTFRecordHeader + length);
      window_.consume(whole);
      bytes += length;
      ++next_;
      continue;
    }
    if (run.count() > 0) break;  // the rest of it, or what is wrong with it, is next
    if (!good)
      damaged(Code::data_loss, "has a length of ", length, " with a wrong checksum: the file is ",
              "damaged or no TFRecord file", next_ == 1 ? guess(rest) : std::string());
    if (length > max_bytes_)
      damaged(Code::resource_exhausted, "has ", length, " bytes, more than ", max_bytes_,
              " (TFRecordOptions::max_record_bytes)");
    if (here) damaged(Code::data_loss, "has a wrong checksum: its bytes are damaged");
    if (!window_.fill(whole))
      damaged(Code::data_loss, "is cut short: ", whole,
              " bytes are needed, but the file ends after ", window_.rest().size());
  }
  return run.count() > 0;
}

}  // namespace

TFRecordSource::TFRecordSource(const TFRecordOptions& options)
    : FilesSource({options.files, options.allow_empty, options.policy}, "TFRecords",
                  [options](const std::string& path, const StreamPosition& at) {
                    return std::make_unique<TFRecordFile>(options, path, at);
                  }) {
  if (options.max_record_bytes < 1 || options.max_record_bytes > kMaxRecordBytes)
    fail(Code::invalid_argument, "max_record_bytes must be from 1 to ", kMaxRecordBytes, ", not ",
         options.max_record_bytes);
}

}  // namespace troupe
