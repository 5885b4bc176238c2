#pragma once

#include <memory>

#include "troupe/actors/readers/record_source.h"

namespace troupe {

struct RepeatOptions {
  static constexpr std::int64_t kForever = -1;

  std::int64_t epochs = kForever;  ///< how often all records are read, or kForever
  bool shuffle_files = false;      ///< each epoch in another order of the files
  std::uint64_t seed = 0;          ///< of those orders
};

/// Reads a source again and again, and says in each run which epoch it is.
class RepeatSource : public RecordSource {
 public:
  /// Throws invalid_argument for less than one epoch.
  RepeatSource(std::unique_ptr<RecordSource> source, RepeatOptions options);

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  /// Starts the first epoch again; the order of the files is the epochs' own.
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return source_->file_count(); }
  std::size_t stream_count() const override { return source_->stream_count(); }
  /// Those of the source for each epoch, and at least whole epochs.
  std::uint64_t pieces() const override;
  SourcePosition piece(std::uint64_t number) const override;
  std::uint64_t piece_of(const SourcePosition& position) const override;
  std::uint64_t block_bytes(const BlockLimits& limits) const override {
    return source_->block_bytes(limits);
  }
  std::uint64_t held_bytes(const BlockLimits& limits) const override {
    return source_->held_bytes(limits);
  }
  std::string describe() const override { return source_->describe(); }
  std::string report() const override { return source_->report(); }

 private:
  void start_epoch(std::uint64_t epoch);

  std::unique_ptr<RecordSource> source_;
  RepeatOptions options_;
  SourcePosition start_;  // of the source in each epoch
  std::uint64_t epoch_ = 0;
  bool any_ = false;  // whether this epoch had a record
};

}  // namespace troupe
