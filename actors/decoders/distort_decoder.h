#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/images/image_steps.h"

namespace troupe {

/// Decodes with another decoder and then changes the image, which is the first
/// component that it gives.
///
/// What is left to chance is a function of the seed and of the record: its bytes, its
/// number in its file and the epoch. It does not depend on what the file is called and
/// where it lies, on which decoder actor has the record, on how many there are, or on
/// where a resumed run began; and each epoch brings other crops of the same image.
class DistortDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument, naming the step, where one cannot take what comes.
  DistortDecoder(std::shared_ptr<RecordDecoder> decoder, std::vector<ImageStep> steps,
                 std::uint64_t seed);

  std::vector<QueueComponent> components() const override { return components_; }
  /// Throws the decoder's errors, and invalid_argument with the record's place for an
  /// image that a step cannot take.
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  std::shared_ptr<RecordDecoder> decoder_;
  std::vector<ImageStep> steps_;
  std::uint64_t seed_;
  std::vector<QueueComponent> components_;
};

}  // namespace troupe
