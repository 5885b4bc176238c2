#include "troupe/actors/readers/whole_file_source.h"

#include "troupe/actors/readers/file_window.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::size_t kFirstBuffer = 64 << 10;

class WholeFile : public RecordFile {
 public:
  WholeFile(const WholeFileOptions& options, const std::string& path, const StreamPosition& at)
      : limit_(options.max_file_bytes),
        window_(path, options.compression, kFirstBuffer),
        read_(at.record > 1) {}

  bool read(RecordRun& run, const BlockLimits&) override {
    if (read_) return false;
    const auto size = window_.size();
    if (size) expect_fits(*size);
    while (window_.fill(size ? *size + 1 : 0)) expect_fits(window_.rest().size());
    window_.add_record(run, 0, window_.rest().size());
    run.first_record = 0;  // the place of the record is the file alone
    read_ = true;
    return true;
  }
  StreamPosition position() const override { return {.record = read_ ? 2 : 1}; }

 private:
  void expect_fits(std::uint64_t bytes) const {
    if (bytes > limit_)
      fail(Code::resource_exhausted, window_.path(), ": the file is larger than ", limit_,
           " bytes (WholeFileOptions::max_file_bytes)");
  }

  std::size_t limit_;
  FileWindow window_;
  bool read_;
};

}  // namespace

WholeFileSource::WholeFileSource(const WholeFileOptions& options)
    : FilesSource({options.files, options.allow_empty, options.policy}, "contents",
                  [options](const std::string& path, const StreamPosition& at) {
                    return std::make_unique<WholeFile>(options, path, at);
                  }) {
  if (options.max_file_bytes < 1 || options.max_file_bytes > kMaxRecordBytes)
    fail(Code::invalid_argument, "max_file_bytes must be from 1 to ", kMaxRecordBytes, ", not ",
         options.max_file_bytes);
}

}  // namespace troupe
