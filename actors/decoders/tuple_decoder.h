#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/decoders/bad_records.h"
#include "troupe/actors/decoders/record_decoder.h"

namespace troupe {

/// Turns blocks of records into blocks of elements: the tensors of stream 0, then
/// those of stream 1, and so on. A record that is bad in one stream is left out of
/// all, if BadRecords has a budget for it.
class TupleDecoder {
 public:
  /// One decoder for each stream. Without `bad` every bad record is a failure.
  explicit TupleDecoder(std::vector<std::shared_ptr<RecordDecoder>> streams,
                        std::shared_ptr<BadRecords> bad = nullptr);

  /// What the elements are made of: for QueueOptions.
  std::vector<QueueComponent> components() const;

  /// Throws the decoders' errors, and invalid_argument when the block has not as
  /// many streams.
  ElementBlock decode(const RecordBlock& block);

  /// BadRecords::report().
  std::string report() const { return bad_ ? bad_->report() : std::string(); }

 private:
  std::vector<std::shared_ptr<RecordDecoder>> streams_;
  std::shared_ptr<BadRecords> bad_;
  std::size_t width_ = 0;  // components of an element
};

}  // namespace troupe
