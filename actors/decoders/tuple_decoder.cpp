#include "troupe/actors/decoders/tuple_decoder.h"

namespace troupe {

TupleDecoder::TupleDecoder(std::vector<std::shared_ptr<RecordDecoder>> streams,
                           std::shared_ptr<BadRecords> bad)
    : streams_(std::move(streams)), bad_(std::move(bad)), width_(components().size()) {}

std::vector<QueueComponent> TupleDecoder::components() const {
  std::vector<QueueComponent> all;
  for (const auto& stream : streams_)
    for (auto& component : stream->components()) all.push_back(std::move(component));
  return all;
}

ElementBlock TupleDecoder::decode(const RecordBlock& block) {
  if (block.streams.size() != streams_.size())
    fail(Code::invalid_argument, "the reader gives ", block.streams.size(),
         " streams of records, but there are decoders for ", streams_.size());
  for (const auto& run : block.streams)
    if (run.count() != block.count())
      fail(Code::invalid_argument, "the reader gives ", block.count(), " records of ",
           block.streams[0].file, " with ", run.count(), " of ", run.file,
           ": every stream of a block needs as many");
  ElementBlock out;
  out.sequence = block.sequence;
  out.elements.reserve(block.count());
  for (std::size_t i = 0; i < block.count(); ++i) {
    try {
      Element element;
      element.reserve(width_);
      for (std::size_t s = 0; s < streams_.size(); ++s)
        streams_[s]->decode(block.streams[s], i, element);
      out.elements.push_back(std::move(element));
    } catch (const Error& error) {
      if (!bad_) throw;
      bad_->skip(error);
    }
  }
  return out;
}

}  // namespace troupe
