#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "troupe/actors/decoders/bad_records.h"
#include "troupe/actors/decoders/element_step.h"
#include "troupe/actors/decoders/record_decoder.h"

namespace troupe {

/// What becomes of the elements that the decoders have made.
struct ElementSteps {
  std::vector<ElementStep> steps;  ///< one after the other
  /// The most that the elements of one block may take; 0 for no bound. Elements whose
  /// size is not known before need one.
  std::uint64_t block_bytes = 0;
  /// Whether each element has buffers of its own. Where elements leave in any order,
  /// one that shares a buffer would keep it for all others.
  bool own_buffers = false;
  std::uint32_t reader = 0;  ///< which of the readers that feed the queue the records come from
};

/// Turns blocks of records into blocks of elements: the tensors of stream 0, then
/// those of stream 1, and so on; then come the steps. A record that is bad in one
/// stream, or to a step, is left out of all, if BadRecords has a budget for it.
class TupleDecoder {
 public:
  /// One decoder for each stream. Without `bad` every bad record is a failure.
  explicit TupleDecoder(std::vector<std::shared_ptr<RecordDecoder>> streams,
                        std::shared_ptr<BadRecords> bad = nullptr, ElementSteps steps = {});

  /// What the decoders give, before the steps: for QueueOptions.
  std::vector<QueueComponent> components() const;

  /// Throws the errors of decoders and steps, invalid_argument when the block has not
  /// as many streams, and resource_exhausted when its elements are too large.
  ElementBlock decode(const RecordBlock& block);
  /// The same, but a record that may not be left out ends the block: what came before it
  /// is returned, and the error is in `failure`.
  ElementBlock decode(const RecordBlock& block, std::optional<Error>& failure);

  /// BadRecords::report().
  std::string report() const { return bad_ ? bad_->report() : std::string(); }

 private:
  void check_size(const RecordBlock& block, const std::vector<Element>& elements,
                  const std::vector<bool>& left_out) const;

  std::vector<std::shared_ptr<RecordDecoder>> streams_;
  std::shared_ptr<BadRecords> bad_;
  ElementSteps steps_;
  std::size_t width_ = 0;  // components of an element
};

}  // namespace troupe
