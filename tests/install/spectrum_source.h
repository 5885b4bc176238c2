#pragma once

#include <troupe/actors/readers/file_list.h>
#include <troupe/actors/readers/input_file.h>
#include <troupe/actors/readers/record_buffer.h>
#include <troupe/actors/readers/record_source.h>
#include <troupe/ops/error.h>

#include <string>
#include <utility>
#include <vector>

/// Spectra, one in each file: a byte for the class, then sixteen bytes for the values.
class SpectrumSource : public troupe::RecordSource {
 public:
  static constexpr std::size_t kBytes = 17;

  explicit SpectrumSource(const std::vector<std::string>& files)
      : files_(troupe::expand_files(files)) {
    restart({});
  }

  bool read(std::vector<troupe::RecordRun>& streams, const troupe::BlockLimits&) override {
    if (next_ == files_.size()) return false;
    const auto& path = files_[order_[next_]];
    troupe::InputFile file(path);
    auto buffer = troupe::record_buffer(kBytes);
    if (file.read(troupe::record_data(buffer), kBytes) < kBytes)
      troupe::fail(troupe::Code::data_loss, path, ": a spectrum has ", kBytes, " bytes, not ",
                   file.offset());
    troupe::RecordRun run;
    run.bytes = buffer;
    run.begins = {troupe::kRecordPadding};
    run.ends = {troupe::kRecordPadding + kBytes};
    run.file = path;
    run.first_record = 0;  // the whole file
    streams = {std::move(run)};
    ++next_;
    return true;
  }

  troupe::SourcePosition position() const override { return {0, {{.file = next_}}}; }
  void seek(const troupe::SourcePosition& position) override {
    if (position.streams.size() != 1 || position.streams[0].file > files_.size())
      troupe::fail(troupe::Code::invalid_argument, describe(), " have no place ", position.str());
    next_ = position.streams[0].file;
  }
  void restart(std::span<const std::size_t> order) override {
    order_ = troupe::file_order(order, files_.size());
    next_ = 0;
  }
  std::size_t file_count() const override { return files_.size(); }
  std::string describe() const override { return "spectra in " + troupe::describe_files(files_); }

 private:
  std::vector<std::string> files_;
  std::vector<std::size_t> order_;
  std::uint64_t next_ = 0;  // position in order_
};
