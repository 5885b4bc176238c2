#include "troupe/actors/decoders/tuple_decoder.h"

#include <utility>

#include "troupe/actors/readers/record_run.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {

TupleDecoder::TupleDecoder(std::vector<std::shared_ptr<RecordDecoder>> streams,
                           std::shared_ptr<BadRecords> bad, ElementSteps steps)
    : streams_(std::move(streams)),
      bad_(std::move(bad)),
      steps_(std::move(steps)),
      width_(components().size()) {}

std::vector<QueueComponent> TupleDecoder::components() const {
  std::vector<QueueComponent> all;
  for (const auto& stream : streams_)
    for (auto& component : stream->components()) all.push_back(std::move(component));
  return all;
}

ElementBlock TupleDecoder::decode(const RecordBlock& block) {
  std::optional<Error> failure;
  auto decoded = decode(block, failure);
  if (failure) throw *failure;
  return decoded;
}

ElementBlock TupleDecoder::decode(const RecordBlock& block, std::optional<Error>& failure) {
  if (block.streams.size() != streams_.size())
    fail(Code::invalid_argument, "the reader gives ", block.streams.size(),
         " streams of records, but there are decoders for ", streams_.size());
  for (const auto& run : block.streams) {
    check(run);
    if (run.count() != block.count())
      fail(Code::invalid_argument, "the reader gives ", block.count(), " records of ",
           block.streams[0].file, " with ", run.count(), " of ", run.file,
           ": every stream of a block needs as many");
  }
  ElementBlock out;
  out.sequence = block.sequence;
  out.reader = steps_.reader;
  out.elements.resize(block.count());
  for (auto& element : out.elements) element.reserve(width_);
  std::vector<bool> left_out;
  std::size_t end = block.count();  // of the records before the first failure
  const auto refuse = [&](std::size_t i, std::size_t stream, const Error& error) {
    left_out.resize(block.count());
    if (i >= end || left_out[i]) return;  // bad in a stream before this one, too
    left_out[i] = true;
    try {
      if (!bad_) throw error;
      const auto& run = block.streams[stream];
      bad_->skip(error, {run.begin(i), run.end(i)});
      ++out.left_out;
    } catch (const Error& first) {
      end = i;
      failure = first;
    }
  };
  for (std::size_t s = 0; s < streams_.size(); ++s)
    streams_[s]->decode_run(block.streams[s], out.elements,
                            [&](std::size_t i, const Error& error) { refuse(i, s, error); });
  if (!steps_.steps.empty())
    for (std::size_t i = 0; i < end; ++i) {
      if (!left_out.empty() && left_out[i]) continue;
      bool kept = false;
      try {
        kept =
            apply_steps(steps_.steps, out.elements[i], [&] { return block.streams[0].place(i); });
      } catch (const Error& error) {
        refuse(i, 0, error);
      }
      if (kept) continue;
      left_out.resize(block.count());
      left_out[i] = true;
    }
  out.elements.resize(end);
  if (steps_.block_bytes > 0) check_size(block, out.elements, left_out);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < end && !left_out.empty(); ++i)
    if (!left_out[i]) std::swap(out.elements[kept++], out.elements[i]);
  if (!left_out.empty()) out.elements.resize(kept);
  if (steps_.own_buffers)
    for (auto& element : out.elements)
      for (auto& tensor : element)
        if (!tensor.unique()) tensor = tensor.clone();
  return out;
}

void TupleDecoder::check_size(const RecordBlock& block, const std::vector<Element>& elements,
                              const std::vector<bool>& left_out) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!left_out.empty() && left_out[i]) continue;
    bytes += byte_size(elements[i]);
    if (bytes > steps_.block_bytes)
      fail(Code::resource_exhausted, block.streams[0].place(i), ": the elements of ", i + 1,
           " records have ", bytes, " bytes, but a decoder may hold ", steps_.block_bytes,
           ": let fewer records move together (DecodeOptions::block_records), or allow more "
           "(DecodeOptions::decoded_bytes)");
  }
}

}  // namespace troupe
