#pragma once

#include <string_view>
#include <vector>

#include "troupe/actors/readers/text_line_source.h"

namespace troupe {

/// Whether a line is a record.
using LineTest = bool (*)(std::string_view line);

/// Those lines of text files that hold data: blank lines and comments, say, are left
/// out. The others keep their numbers. Errors are TextLineSource's, and
/// invalid_argument when all files together have no such line.
class DataLineSource : public RecordSource {
 public:
  DataLineSource(TextLineOptions options, LineTest holds_data);

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return lines_.file_count(); }
  std::size_t stream_count() const override { return lines_.stream_count(); }
  std::uint64_t pieces() const override { return lines_.pieces(); }
  SourcePosition piece(std::uint64_t number) const override { return lines_.piece(number); }
  std::uint64_t piece_of(const SourcePosition& position) const override {
    return lines_.piece_of(position);
  }
  std::uint64_t block_bytes(const BlockLimits& limits) const override {
    return lines_.block_bytes(limits);
  }
  std::uint64_t held_bytes(const BlockLimits& limits) const override {
    return lines_.held_bytes(limits);
  }
  std::string describe() const override { return lines_.describe(); }
  std::string report() const override { return lines_.report(); }

 private:
  std::size_t left() const { return lines_read_.empty() ? 0 : lines_read_[0].count() - used_; }
  bool next_holds_data() const;
  void forget();

  TextLineSource lines_;
  LineTest holds_data_;
  bool allow_empty_;
  std::vector<RecordRun> lines_read_;
  std::size_t used_ = 0;   // lines of them that have been given out or left out
  SourcePosition before_;  // of lines_, when it gave them
  bool any_ = false;       // whether there was a record since the start
};

}  // namespace troupe
