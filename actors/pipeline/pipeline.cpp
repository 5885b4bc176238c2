#include "troupe/actors/pipeline/pipeline.h"

#include <algorithm>

#include "troupe/actors/decoders/bad_records.h"
#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/decoders/idx_decoder.h"
#include "troupe/actors/decoders/number_decoder.h"
#include "troupe/actors/decoders/ordered_merge.h"
#include "troupe/actors/decoders/tuple_decoder.h"
#include "troupe/actors/readers/idx_source.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/actors/readers/repeat_source.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/actors/readers/zip_source.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/random_shuffle_queue.h"

namespace troupe {
namespace {

constexpr std::size_t kReadAhead = 2;

/// Twice the CPUs: while one decoder waits for the reader or the queue another one
/// has a block in its hands.
int decoder_count(const DecodeOptions& options) {
  return options.decoders > 0 ? options.decoders : 2 * schedulable_cpus();
}

std::shared_ptr<TupleDecoder> make_decoder(const std::vector<DecoderFactory>& factories,
                                           const std::shared_ptr<BadRecords>& bad) {
  std::vector<std::shared_ptr<RecordDecoder>> streams;
  for (const auto& factory : factories) streams.push_back(factory());
  return std::make_shared<TupleDecoder>(std::move(streams), bad);
}

std::uint64_t element_bytes(const std::vector<TensorSpec>& components) {
  std::uint64_t bytes = 0;
  for (const auto& c : components)
    bytes += static_cast<std::uint64_t>(c.shape.volume()) * size_of(c.dtype) + Buffer::kHeader;
  return bytes;
}

}  // namespace

// ---- records ---------------------------------------------------------------------------------

Records::Records(SourceFactory source, std::string description, std::int64_t count)
    : source_(std::move(source)), description_(std::move(description)), count_(count) {}

Records Records::zip(const Records& other) const {
  if (epochs_ != 1 || other.epochs_ != 1)
    fail(Code::invalid_argument, "zip records before they are repeated: ", description_, " and ",
         other.description_);
  const auto sources = [a = source_, b = other.source_]() -> std::unique_ptr<RecordSource> {
    std::vector<std::unique_ptr<RecordSource>> both;
    both.push_back(a());
    both.push_back(b());
    return std::make_unique<ZipSource>(std::move(both));
  };
  if (count_ > 0 && other.count_ > 0 && count_ != other.count_)
    fail(Code::invalid_argument, "cannot zip ", description_, " with ", other.description_,
         ": they have ", count_, " and ", other.count_, " records");
  return {sources, description_ + " + " + other.description_, std::max(count_, other.count_)};
}

Records Records::repeat(std::int64_t epochs, std::optional<std::uint64_t> shuffle_files) const {
  if (epochs < 0)
    fail(Code::invalid_argument, "records are repeated once or more, or 0 times for ever, but ",
         epochs, " was given");
  auto repeated = *this;
  repeated.source_ = [inner = source_, epochs, shuffle_files]() -> std::unique_ptr<RecordSource> {
    RepeatOptions options;
    options.epochs = epochs == 0 ? RepeatOptions::kForever : epochs;
    options.shuffle_files = shuffle_files.has_value();
    options.seed = shuffle_files.value_or(0);
    return std::make_unique<RepeatSource>(inner(), options);
  };
  repeated.epochs_ = epochs;
  return repeated;
}

Examples Records::decode(std::vector<DecoderFactory> decoders, const DecodeOptions& options) const {
  constexpr int kMostDecoders = 1024;
  if (options.decoders < 0 || options.decoders > kMostDecoders)
    fail(Code::invalid_argument, "the number of decoders is 0 (two per CPU) to ", kMostDecoders,
         ", but ", options.decoders, " was given");
  auto d = std::make_shared<Examples::Description>(*this);
  for (const auto& component : make_decoder(decoders, nullptr)->components())
    d->components.push_back(component.spec);
  d->decoders = std::move(decoders);
  d->decoding = options;
  return Examples(std::move(d));
}

Records read_text(const std::vector<std::string>& files, int skip_header_lines) {
  TextLineOptions options;
  options.files = files;
  options.skip_header_lines = skip_header_lines;
  const TextLineSource probe(options);  // complains at once about what is not there
  return {[options] { return std::make_unique<TextLineSource>(options); }, probe.describe()};
}

Records read_idx(const std::string& file) {
  IdxOptions options;
  options.files = {file};
  const IdxSource probe(options);
  return {[options] { return std::make_unique<IdxSource>(options); }, probe.describe(),
          probe.header().count};
}

DecoderFactory numbers(const Shape& shape, char delimiter) {
  NumberDecoderOptions options;
  options.shape = shape;
  options.delimiter = delimiter;
  options.merge_delimiters = delimiter == ' ';
  return [options] { return std::make_shared<NumberDecoder>(options); };
}

DecoderFactory idx_pixels(const std::string& file) {
  const auto header = read_idx_header(file);
  IdxDecoderOptions options;
  options.name = "pixels";
  options.scale = 1.0 / 255;
  if (header.item.rank() == 2) options.shape = Shape{header.item[0], header.item[1], 1};
  return [=] { return std::make_shared<IdxDecoder>(header, options); };
}

DecoderFactory idx_labels(const std::string& file) {
  const auto header = read_idx_header(file);
  IdxDecoderOptions options;
  options.name = "labels";
  options.dtype = DType::int64;
  return [=] { return std::make_shared<IdxDecoder>(header, options); };
}

// ---- examples --------------------------------------------------------------------------------

Examples Examples::shuffle(const ShuffleOptions& options) const {
  if (options.capacity < 1 || options.min_after_dequeue < 0 ||
      options.min_after_dequeue >= options.capacity)
    fail(Code::invalid_argument, "a shuffle queue needs 0 <= min_after_dequeue < capacity, but ",
         options.min_after_dequeue, " and ", options.capacity, " were given");
  auto d = std::make_shared<Description>(*d_);
  d->shuffled = true;
  d->queue = options;
  return Examples(std::move(d));
}

Examples Examples::buffer(std::int64_t capacity) const {
  if (capacity < 1)
    fail(Code::invalid_argument, "a queue holds 1 element or more, but ", capacity, " was given");
  auto d = std::make_shared<Description>(*d_);
  d->shuffled = false;
  d->queue = {capacity, 0};
  return Examples(std::move(d));
}

Batches Examples::batch(std::int64_t rows, Remainder remainder) const {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 32;
  if (rows < 1 || rows > kMostRows)
    fail(Code::invalid_argument, "a batch has 1 to ", kMostRows, " rows, but ", rows, " was given");
  return {d_, rows, remainder};
}

// ---- batches ---------------------------------------------------------------------------------

Batches Batches::in_order() const {
  auto d = std::make_shared<Examples::Description>(*d_);
  d->ordered = true;
  return {std::move(d), rows_, remainder_};
}

std::string Batches::describe() const {
  const auto& d = *d_;
  const int decoders = decoder_count(d.decoding);
  auto line = text(d.records.description());
  if (d.records.epochs() != 1)
    line += d.records.epochs() == 0 ? ", for ever" : text(", ", d.records.epochs(), " times");
  line += text("\n  -> ", decoders, decoders == 1 ? " decoder" : " decoders",
               d.ordered ? ", in order" : "", " -> ");
  if (d.shuffled)
    line += text("shuffle queue of ", d.queue.capacity, ", at least ", d.queue.min_after_dequeue,
                 " to choose from");
  else
    line += text("queue of ", d.queue.capacity);
  return line + text(" -> batches of ", rows_);
}

std::uint64_t Batches::memory_bound(int replicas) const {
  const auto& d = *d_;
  const auto element = element_bytes(d.components);
  const auto decoders = static_cast<std::uint64_t>(decoder_count(d.decoding));
  const auto block_elements = static_cast<std::uint64_t>(d.decoding.block_records);
  // Text: what the reader has ahead, and two blocks in the hands of each decoder.
  const std::uint64_t text = (kReadAhead + 1 + 2 * decoders) * 2 * d.decoding.block_bytes;
  // Elements: a decoded block for each decoder, the queue, a dequeue that is being filled.
  const std::uint64_t elements =
      (decoders * block_elements + static_cast<std::uint64_t>(d.queue.capacity + rows_)) * element;
  // Batches: one that waits and one in work for each replica.
  const std::uint64_t batches =
      2 * static_cast<std::uint64_t>(replicas) * static_cast<std::uint64_t>(rows_) * element;
  return text + elements + batches;
}

Batches::Running Batches::spawn(Troupe& troupe, const std::string& prefix,
                                std::uint64_t seed) const {
  const auto& d = *d_;
  const int decoders = decoder_count(d.decoding);
  ReaderOptions reading;
  reading.limits = {d.decoding.block_records, d.decoding.block_bytes};
  reading.read_ahead = kReadAhead;
  const auto reader = troupe.spawn<caf::detached>(
      prefix + "reader", record_reader, std::shared_ptr<RecordSource>(d.records.open()), reading);

  const auto bad = d.decoding.skip_bad_records > 0
                       ? std::make_shared<BadRecords>(
                             BadRecordOptions{d.decoding.skip_bad_records, d.decoding.quarantine})
                       : nullptr;
  RandomShuffleQueueOptions queueing;
  queueing.name = prefix + "examples";
  queueing.capacity = d.queue.capacity;
  // How full the queue is when an element is drawn depends on timing, unless it
  // is always drawn from a full one.
  queueing.min_after_dequeue = d.ordered ? d.queue.capacity - 1 : d.queue.min_after_dequeue;
  queueing.seed = seed;
  queueing.producers = d.ordered ? 1 : decoders;
  queueing.components = make_decoder(d.decoders, nullptr)->components();
  const auto name = prefix + (d.shuffled ? "shuffle queue" : "queue");
  Running running;
  running.queue = d.shuffled ? troupe.spawn(name, random_shuffle_queue, queueing)
                             : troupe.spawn(name, fifo_queue, static_cast<QueueOptions&>(queueing));
  troupe.observe(reader, Role::reader);
  troupe.observe(running.queue, Role::queue);
  auto into = running.queue;
  if (d.ordered)
    into = troupe.spawn(prefix + "merge", ordered_merge, running.queue, std::int64_t{decoders});
  for (int i = 0; i < decoders; ++i) {
    const auto title = text(prefix, "decoder ", i);
    running.decoders.emplace_back(
        title, troupe.spawn(title, decoder, reader, into, make_decoder(d.decoders, bad)));
    troupe.observe(running.decoders.back().second, Role::decoder);
    troupe.link(reader, running.decoders.back().second);
    troupe.link(running.decoders.back().second, running.queue);
  }
  return running;
}

}  // namespace troupe
