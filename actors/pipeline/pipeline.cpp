#include "troupe/actors/pipeline/pipeline.h"

#include <algorithm>

#include "troupe/actors/decoders/number_decoder.h"
#include "troupe/actors/pipeline/arrays.h"
#include "troupe/actors/pipeline/description.h"
#include "troupe/actors/pipeline/records.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/actors/readers/repeat_source.h"
#include "troupe/actors/readers/zip_source.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/ops/error.h"

namespace troupe {

// ---- records ---------------------------------------------------------------------------------

Records::Records(SourceFactory source, std::string description, std::int64_t count)
    : source_(std::move(source)), description_(std::move(description)), count_(count) {}

Records Records::from_actor(ReaderSpawner spawner, std::string description, std::int64_t count) {
  Records records({}, std::move(description), count);
  records.spawner_ = std::move(spawner);
  return records;
}

void Records::expect_source(const char* what) const {
  if (!source_ && !spawner_)
    fail(Code::invalid_argument, description_, " cannot be ", what,
         ": there is neither a function that makes a RecordSource nor one that spawns an actor");
  if (!source_)
    fail(Code::failed_precondition, description_, " cannot be ", what,
         ": an actor reads them. Give Records a RecordSource, or let the actor do it");
}

std::unique_ptr<RecordSource> Records::open() const {
  expect_source("opened as a source");
  auto source = source_();
  if (!source) fail(Code::invalid_argument, description_, ": the factory of sources gave none");
  return source;
}

Reader Records::spawn(Troupe& troupe, const std::string& name, const ReaderOptions& options) const {
  if (spawner_) return spawner_(troupe, name, options);
  return troupe.spawn<caf::detached>(name, record_reader, std::shared_ptr<RecordSource>(open()),
                                     options);
}

std::uint64_t Records::block_bytes(const BlockLimits& limits) const {
  return spawner_ ? 2 * limits.bytes : open()->block_bytes(limits);
}

Records Records::with_split(RecordSplitter splitter) const {
  auto records = *this;
  records.splitter_ = std::move(splitter);
  return records;
}

std::vector<Records> Records::split(std::size_t count) const {
  if (!splitter_)
    fail(Code::invalid_argument, description_, " cannot be split in ranges of bytes: lines, CSV ",
         "records that are lines and records of a fixed length can, before anything else is ",
         "done with them. Write several files, and join a reader of each");
  return splitter_(count);
}

std::uint64_t Records::held_bytes(const BlockLimits& limits) const {
  return spawner_ ? 2 * limits.bytes : open()->held_bytes(limits);
}

std::size_t Records::stream_count() const { return spawner_ ? 0 : open()->stream_count(); }

Records Records::zip(const Records& other) const {
  expect_source("zipped");
  other.expect_source("zipped");
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
  expect_source("repeated");
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
  repeated.splitter_ = {};
  return repeated;
}

Examples Records::decode(std::vector<DecoderFactory> decoders, const DecodeOptions& options) const {
  constexpr int kMostDecoders = 1024;
  if (options.decoders < 0 || options.decoders > kMostDecoders)
    fail(Code::invalid_argument, "the number of decoders is 0 (two per CPU) to ", kMostDecoders,
         ", but ", options.decoders, " was given");
  if (options.skip_bad_records < 0)
    fail(Code::invalid_argument, "0 bad records or more may be left out, not ",
         options.skip_bad_records, " (DecodeOptions::skip_bad_records)");
  if (!options.quarantine.empty() && options.skip_bad_records == 0)
    fail(Code::invalid_argument, "no record would be left out for the file ", options.quarantine,
         ": say how many may be (DecodeOptions::skip_bad_records)");
  if (decoders.empty())
    fail(Code::invalid_argument, description_, ": records are decoded by one decoder for each of ",
         "their streams, but none was given");
  auto d = std::make_shared<Examples::Description>();
  for (const auto& component : d->branches.emplace_back(*this, std::move(decoders), options).made())
    d->components.push_back(component.spec);
  return Examples(std::move(d));
}

Records read_text(const std::vector<std::string>& files, int skip_header_lines) {
  return read_lines(files, {.skip_header_lines = skip_header_lines});
}

Records read_idx(const std::string& file) { return read_arrays({.files = {file}}, idx_format()); }

DecoderFactory numbers(const Shape& shape, char delimiter) {
  NumberDecoderOptions options;
  options.shape = shape;
  options.delimiter = delimiter;
  options.merge_delimiters = delimiter == ' ';
  return [options] { return std::make_shared<NumberDecoder>(options); };
}

DecoderFactory idx_pixels(const std::string& file) {
  const auto header = open_idx(file).header;
  ArrayDecoderOptions options{.dtype = DType::float32, .scale = 1.0 / 255, .name = "pixels"};
  if (header.item.rank() == 2) options.shape = Shape{header.item[0], header.item[1], 1};
  return array_items(header, options);
}

DecoderFactory idx_labels(const std::string& file) {
  return array_items(open_idx(file).header, {.dtype = DType::int64, .name = "labels"});
}

}  // namespace troupe
