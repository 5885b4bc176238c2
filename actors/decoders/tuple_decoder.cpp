#include "troupe/actors/decoders/tuple_decoder.h"

#include <utility>

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
  out.elements.resize(block.count());
  for (auto& element : out.elements) element.reserve(width_);
  std::vector<bool> left_out;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const auto& run = block.streams[s];
    streams_[s]->decode_run(run, out.elements, [&](std::size_t i, const Error& error) {
      if (!bad_) throw error;
      left_out.resize(block.count());
      if (left_out[i]) return;  // bad in a stream before this one, too
      bad_->skip(error, {run.begin(i), run.end(i)});
      left_out[i] = true;
    });
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < left_out.size(); ++i)
    if (!left_out[i]) std::swap(out.elements[kept++], out.elements[i]);
  if (!left_out.empty()) out.elements.resize(kept);
  return out;
}

}  // namespace troupe
