#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/readers/record_source.h"

namespace troupe {

/// Every `count`-th record of a source, beginning with number `index`, from 0: what one
/// of `count` readers keeps of what all of them read. Where there are enough files,
/// shard_files saves the reading.
class ShardSource : public RecordSource {
 public:
  /// Throws invalid_argument unless index < count.
  ShardSource(std::unique_ptr<RecordSource> source, std::size_t index, std::size_t count);

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return source_->file_count(); }
  std::size_t stream_count() const override { return source_->stream_count(); }
  std::uint64_t block_bytes(const BlockLimits& limits) const override {
    return source_->block_bytes(limits);
  }
  std::uint64_t held_bytes(const BlockLimits& limits) const override {
    return source_->held_bytes(limits);
  }
  std::string describe() const override;
  std::string report() const override { return source_->report(); }

 private:
  std::unique_ptr<RecordSource> source_;
  std::size_t index_;
  std::size_t count_;
  std::size_t until_next_;  // records of the source before the next one that is ours
};

}  // namespace troupe
