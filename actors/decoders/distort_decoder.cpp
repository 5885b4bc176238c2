#include "troupe/actors/decoders/distort_decoder.h"

#include "troupe/messages/crc32c.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// Another number for every record of every epoch. The name of the file is not in it: paths
/// depend on where a program is started and where its data lie.
std::uint64_t record_seed(std::uint64_t seed, const RecordRun& run, std::size_t i) {
  const auto sum = crc32c(run.begin(i), static_cast<std::size_t>(run.end(i) - run.begin(i)));
  const auto number = static_cast<std::uint64_t>(run.number_of(i));
  return mix(mix(mix(seed ^ sum) ^ number) ^ run.epoch);
}

}  // namespace

DistortDecoder::DistortDecoder(std::shared_ptr<RecordDecoder> decoder, std::vector<ImageStep> steps,
                               std::uint64_t seed)
    : decoder_(std::move(decoder)),
      steps_(std::move(steps)),
      seed_(seed),
      components_(decoder_->components()) {
  auto& spec = components_.at(0).spec;
  if (spec.shape.rank() != 3)
    fail(Code::invalid_argument, "images are [height, width, channels], but the decoder gives ",
         spec);
  for (const auto& step : steps_) {
    try {
      spec = step.infer(spec);
    } catch (const Error& error) {
      throw error.within(step.name);
    }
  }
}

void DistortDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  const auto first = element.size();
  decoder_->decode(run, i, element);
  const auto seed = record_seed(seed_, run, i);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    RandomStream random(seed, s);
    try {
      element[first] = steps_[s].apply(std::move(element[first]), random);
    } catch (const Error& error) {
      throw error.within(run.place(i) + ": " + steps_[s].name);
    }
  }
}

}  // namespace troupe
