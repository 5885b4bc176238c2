#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/readers/file_policy.h"
#include "troupe/actors/readers/record_run.h"

namespace troupe {

struct InterleaveOptions {
  std::size_t cycle_length = 4;  ///< so many inputs are read in turn, at least 1
  std::size_t block_length = 1;  ///< so many records of one before the next one's turn, at least 1
  bool allow_empty = false;      ///< no record at all is not an error
  std::shared_ptr<FileReport> report{};  ///< what the inputs leave out is counted there
};

/// Opens input i. It should allow that there is no record in it.
using InputOpener = std::function<std::unique_ptr<RecordSource>(std::size_t input)>;

/// Records of several inputs, mostly files, in turn: some of the first, some of the
/// second, and so on. An input that ends makes room for the first one that has not been
/// opened, which begins when it is its place's turn again. The order is always the same,
/// that of tf.data's interleave, and does not depend on the limits of the blocks.
///
/// Records of several inputs share a block.
class InterleaveSource : public RecordSource {
 public:
  /// Throws invalid_argument for a length of 0 and without an input. `description` is of
  /// the inputs, for messages.
  InterleaveSource(std::size_t inputs, InputOpener open, std::string description,
                   InterleaveOptions options = {});

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return inputs_; }
  /// A block of one input's records has the bytes of such a block; one of several inputs
  /// is a copy.
  std::uint64_t block_bytes(const BlockLimits& limits) const override;
  /// Every input that is read in turn keeps what a source keeps, and a block of its own
  /// until those of all of them are joined.
  std::uint64_t held_bytes(const BlockLimits& limits) const override;
  std::string describe() const override;
  std::string report() const override;

 private:
  struct Place {
    std::unique_ptr<RecordSource> source;
    std::size_t input = 0;  ///< its number
  };
  /// Makes the place whose turn it is have a source; false when all inputs have ended.
  bool find_source();
  void next_place();
  /// Adds records of the place whose turn it is; false when all inputs have ended.
  bool read_some(std::vector<RunCollector>& collected, const BlockLimits& limits);
  void open(Place& place, std::size_t input) const;
  /// Of a block, and those that a source keeps: of the largest input.
  std::pair<std::uint64_t, std::uint64_t> bytes_of_inputs(const BlockLimits& limits) const;

  std::size_t inputs_;
  InputOpener open_;
  std::string description_;
  InterleaveOptions options_;
  std::vector<std::size_t> order_;

  std::vector<Place> places_;
  std::size_t turn_ = 0;   // of this place
  std::size_t taken_ = 0;  // records of its block
  std::size_t next_ = 0;   // in the order of the inputs
  bool any_ = false;
  std::exception_ptr failure_;  // of an input, for the next read
};

}  // namespace troupe
