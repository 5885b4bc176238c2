#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/readers/record_source.h"

namespace troupe {

struct ZipOptions {
  /// Whether the records of the longer sources may be dropped at the end.
  bool allow_shorter = false;
};

/// Several sources side by side, record by record: record i of one always stands
/// beside record i of the others, however many actors decode them.
///
/// Reading throws data_loss, naming the places, when one source ends before another.
class ZipSource : public RecordSource {
 public:
  /// Throws invalid_argument without a source.
  explicit ZipSource(std::vector<std::unique_ptr<RecordSource>> sources, ZipOptions options = {});

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  /// Throws invalid_argument for an order when the sources have not as many files.
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return parts_[0].source->file_count(); }
  std::size_t stream_count() const override;
  std::uint64_t block_bytes(const BlockLimits& limits) const override;
  std::uint64_t held_bytes(const BlockLimits& limits) const override;
  std::string describe() const override;
  std::string report() const override;

 private:
  /// One source, with the records that it has given and we have not.
  struct Part {
    std::unique_ptr<RecordSource> source;
    std::vector<RecordRun> runs;
    std::size_t used = 0;  ///< records of `runs` that have been given out
    bool ended = false;
    SourcePosition before;           ///< of the source, when it gave `runs`
    std::string last = "the start";  ///< place of the last record, for messages

    std::size_t left() const { return runs.empty() ? 0 : runs[0].count() - used; }
    void refill(const BlockLimits& limits);
    void take(std::size_t count, std::vector<RecordRun>& streams);
  };
  void check_ends() const;

  std::vector<Part> parts_;
  ZipOptions options_;
};

}  // namespace troupe
