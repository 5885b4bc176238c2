#include "troupe/actors/decoders/record_decoder.h"

#include <exception>
#include <new>

namespace troupe {

void RecordDecoder::decode_run(const RecordRun& run, std::span<Element> elements,
                               const Refuse& refuse) {
  for (std::size_t i = 0; i < run.count(); ++i) {
    try {
      decode(run, i, elements[i]);
    } catch (const Error& error) {
      refuse(i, error);
    } catch (const std::bad_alloc&) {
      throw;  // no fault of the record
    } catch (const std::exception& error) {
      refuse(i, Error(Code::internal, text(run.place(i), ": ", error.what())));
    }
  }
}

}  // namespace troupe
