#include "troupe/actors/decoders/record_decoder.h"

namespace troupe {

void RecordDecoder::decode_run(const RecordRun& run, std::span<Element> elements,
                               const Refuse& refuse) {
  for (std::size_t i = 0; i < run.count(); ++i) {
    try {
      decode(run, i, elements[i]);
    } catch (const Error& error) {
      refuse(i, error);
    }
  }
}

}  // namespace troupe
