#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/actors/readers/record_source.h"
#include "troupe/ops/error.h"

namespace troupe::test {

/// Records from a list, `block` at a time; then its end, or a failure.
class ListedSource : public RecordSource {
 public:
  explicit ListedSource(std::vector<std::string> records, std::size_t block = 1)
      : records_(std::move(records)), block_(block) {}

  void fail_at_the_end(const Error& error) { failure_ = error; }
  int reads() const { return reads_; }

  bool read(std::vector<RecordRun>& streams, const BlockLimits&) override {
    ++reads_;
    if (next_ == records_.size()) {
      if (failure_) throw *failure_;
      return false;
    }
    const auto count = std::min(block_, records_.size() - next_);
    RecordRun run;
    std::string bytes;
    for (std::size_t i = next_; i < next_ + count; ++i) {
      run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + bytes.size()));
      bytes += records_[i];
      run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + bytes.size()));
    }
    run.bytes = record_buffer(bytes.size());
    std::copy(bytes.begin(), bytes.end(), record_data(run.bytes));
    run.file = "list";
    run.first_record = static_cast<std::int64_t>(next_) + 1;
    next_ += count;
    streams = {run};
    return true;
  }
  SourcePosition position() const override { return {0, {{.offset = next_}}}; }
  void seek(const SourcePosition& position) override {
    if (position.streams.size() != 1 || position.streams[0].offset > records_.size())
      fail(Code::invalid_argument, "the list has no place ", position.str());
    next_ = position.streams[0].offset;
  }
  void restart(std::span<const std::size_t>) override { next_ = 0; }
  std::string describe() const override { return "a list"; }

 private:
  std::vector<std::string> records_;
  std::size_t block_;
  std::size_t next_ = 0;
  int reads_ = 0;
  std::optional<Error> failure_;
};

/// "0" to "n - 1".
inline std::vector<std::string> numbers_below(int n) {
  std::vector<std::string> records;
  for (int i = 0; i < n; ++i) records.push_back(std::to_string(i));
  return records;
}

/// Decodes a number; a record that is none is bad.
class PlainNumberDecoder : public RecordDecoder {
 public:
  std::vector<QueueComponent> components() const override {
    return {{"number", {DType::int64, {}}}};
  }
  void decode(const RecordRun& run, std::size_t i, Element& element) override {
    const std::string record(run.begin(i), run.end(i));
    if (record.empty() || record.find_first_not_of("0123456789") != std::string::npos)
      fail(Code::invalid_argument, run.place(i), ": \"", record, "\" is not a number");
    element.push_back(Tensor::scalar<std::int64_t>(std::stoll(record)));
  }
};

}  // namespace troupe::test
