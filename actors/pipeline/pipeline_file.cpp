#include "troupe/actors/pipeline/pipeline_file.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "troupe/actors/pipeline/catalog.h"
#include "troupe/actors/pipeline/component_options.h"
#include "troupe/actors/pipeline/pipeline_of.h"
#include "troupe/actors/pipeline/records.h"
#include "troupe/messages/proto/pipeline.pb.h"
#include "troupe/ops/error.h"

namespace troupe {

OptionMap options_of(const Located<proto::Component>& component, const std::string& directory) {
  OptionMap options;
  options.set_directory(directory);
  for (int i = 0; i < component->option_size(); ++i) {
    const auto& option = component->option(i);
    const auto place = component.place("option", i);
    if (option.name().empty() || option.value().empty())
      fail(Code::invalid_argument, place, ": an option has a name and a value, or several values");
    for (const auto& value : option.value()) options.add(option.name(), value, place);
  }
  return options;
}

namespace {

// ---- records ---------------------------------------------------------------------------------

template <class Message, class Number>
void set_number(Number& to, const Located<Message>& message, const char* field, bool given,
                std::int64_t value, std::int64_t least) {
  if (!given) return;
  if (value < least || value > std::numeric_limits<int>::max())
    fail(Code::invalid_argument, message.place(field), ": ", field, " is ", value,
         "; it goes from ", least, " to ", std::numeric_limits<int>::max());
  to = static_cast<Number>(value);
}

/// A number of bytes, elements or rows; the builder has the last word about it.
template <class Message>
std::uint64_t bytes(const Located<Message>& message, const char* field, std::int64_t value) {
  if (value < 0)
    fail(Code::invalid_argument, message.place(field), ": ", field, " is ", value,
         "; it is at least 0");
  return static_cast<std::uint64_t>(value);
}

Records in_turn(const Located<proto::Interleave>& interleaved, const std::string& reader,
                const OptionMap& reading) {
  InterleaveOptions options;
  set_number(options.cycle_length, interleaved, "cycle_length", interleaved->has_cycle_length(),
             interleaved->cycle_length(), 1);
  set_number(options.block_length, interleaved, "block_length", interleaved->has_block_length(),
             interleaved->block_length(), 1);
  if (!reading.has("files"))
    fail(Code::invalid_argument, interleaved.place(), ": files are read in turn, but reader '",
         reader, "' has no option 'files'");
  const auto open = [=](const std::string& file) {
    return read_records(reader, reading.of_file(file)).open();
  };
  return at_place(interleaved.place(),
                  [&] { return interleave(reading.files("files"), open, options); });
}

struct Stream {
  Records records;
  std::vector<DecoderFactory> decoders;
};

Stream read_stream(const Located<proto::Stream>& stream, const std::string& directory) {
  if (!stream->has_reader() || stream->decoder().empty())
    fail(Code::invalid_argument, stream.place(), ": a stream has a reader and a decoder");
  const auto reader = stream.inside("reader", stream->reader());
  const auto reading = options_of(reader, directory);
  Stream made{at_place(reader.place(), [&] { return read_records(reader->name(), reading); }), {}};
  if (stream->has_interleave())
    made.records =
        in_turn(stream.inside("interleave", stream->interleave()), reader->name(), reading);
  for (int i = 0; i < stream->decoder_size(); ++i) {
    const auto decoder = stream.inside("decoder", stream->decoder(i), i);
    made.decoders.push_back(at_place(decoder.place(), [&] {
      auto factory = decoder_of(decoder->name(), options_of(decoder, directory), reading);
      (void)factory()->components();  // complains about options that do not go together
      return factory;
    }));
  }
  const auto streams = at_place(reader.place(), [&] { return made.records.stream_count(); });
  const auto decoders = made.decoders.size();
  if (streams != 0 && streams != decoders)
    fail(Code::invalid_argument,
         decoders > streams ? stream.place("decoder", static_cast<int>(streams)) : stream.place(),
         ": reader '", reader->name(), "' gives ", streams,
         streams == 1 ? " stream of records, which needs 1 decoder"
                      : text(" streams of records, which need ", streams, " decoders"),
         ", but there ", decoders == 1 ? "is " : "are ", decoders);
  return made;
}

// ---- examples --------------------------------------------------------------------------------

DecodeOptions decode_options(const Located<proto::Decoding>& d, const std::string& directory) {
  DecodeOptions options;
  set_number(options.decoders, d, "decoders", d->has_decoders(), d->decoders(), 0);
  set_number(options.block_records, d, "block_records", d->has_block_records(), d->block_records(),
             1);
  set_number(options.block_bytes, d, "block_bytes", d->has_block_bytes(), d->block_bytes(), 1);
  set_number(options.skip_bad_records, d, "skip_bad_records", d->has_skip_bad_records(),
             d->skip_bad_records(), 0);
  if (d->has_decoded_bytes()) options.decoded_bytes = bytes(d, "decoded_bytes", d->decoded_bytes());
  OptionMap paths;
  paths.set_directory(directory);
  if (!d->quarantine().empty()) options.quarantine = paths.path(d->quarantine());
  return options;
}

/// Component `number` of the elements, which the field of that name asks for.
template <class Message>
const TensorSpec& component_of(const Located<Message>& asking, const Examples& examples) {
  const auto& components = examples.components();
  const auto number = asking->component();
  if (number < 0 || number >= std::ssize(components))
    fail(Code::invalid_argument, asking.place("component"), ": there is no component ", number,
         "; the elements have ", components.size(), ", from 0");
  return components[static_cast<std::size_t>(number)];
}

Examples filtered(const Located<proto::Filter>& filter, const Examples& examples) {
  const auto& spec = component_of(filter, examples);
  if (spec.dtype == DType::string || !(spec.shape == Shape{}))
    fail(Code::invalid_argument, filter.place("component"), ": a filter looks at a single number, ",
         "but component ", filter->component(), " is ", spec);
  if (!filter->has_at_least() && !filter->has_at_most() && filter->one_of().empty())
    fail(Code::invalid_argument, filter.place(),
         ": say which examples are kept: at_least, at_most or one_of");
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  const auto least = filter->has_at_least() ? filter->at_least() : -kInfinity;
  const auto most = filter->has_at_most() ? filter->at_most() : kInfinity;
  const auto keep = [component = static_cast<std::size_t>(filter->component()), least, most,
                     values = std::vector<double>(filter->one_of().begin(), filter->one_of().end()),
                     exclude = filter->exclude()](const Element& element) {
    const auto value = element[component].item();
    const bool meant = value >= least && value <= most &&
                       (values.empty() || std::ranges::find(values, value) != values.end());
    return meant != exclude;
  };
  return at_place(filter.place(), [&] { return examples.filter(keep); });
}

template <class Message>
Examples filtered_by_all(const Located<Message>& part, Examples examples) {
  for (int i = 0; i < part->filter_size(); ++i)
    examples = filtered(part.inside("filter", part->filter(i), i), examples);
  return examples;
}

/// What a Join has, and a Pipeline without one.
template <class Message>
Examples read_examples(const Located<Message>& part, const std::string& directory) {
  if (part->stream().empty())
    fail(Code::invalid_argument, part.place(),
         ": a pipeline has a stream { reader { ... } decoder { ... } }, or several");
  std::vector<Stream> streams;
  for (int i = 0; i < part->stream_size(); ++i)
    streams.push_back(read_stream(part.inside("stream", part->stream(i), i), directory));
  auto records = streams[0].records;
  auto decoders = streams[0].decoders;
  for (int i = 1; i < part->stream_size(); ++i) {
    const auto& stream = streams[static_cast<std::size_t>(i)];
    records = at_place(part.place("stream", i), [&] { return records.zip(stream.records); });
    decoders.insert(decoders.end(), stream.decoders.begin(), stream.decoders.end());
  }

  std::vector<Records> parts{records};
  if (part->has_split()) {
    std::size_t count = 0;
    set_number(count, part, "split", true, part->split(), 1);
    parts = at_place(part.place("split"), [&] { return records.split(count); });
  }
  std::optional<std::uint64_t> seed;
  if (part->has_shuffle_files()) seed = part->shuffle_files();
  const auto decoding = part.inside("decoding", part->decoding());
  const auto options = decode_options(decoding, directory);
  std::vector<Examples> examples;
  for (auto& each : parts) {
    if (part->has_shard()) {
      const auto place = part.inside("shard", part->shard());
      const auto index = bytes(place, "index", place->index());
      const auto count = bytes(place, "count", place->count());
      each = at_place(place.place(), [&] { return shard(each, index, count); });
    }
    if (part->has_epochs() || seed)
      each = at_place(part.place(part->has_epochs() ? "epochs" : "shuffle_files"),
                      [&] { return each.repeat(part->has_epochs() ? part->epochs() : 1, seed); });
    examples.push_back(at_place(decoding.place(), [&] { return each.decode(decoders, options); }));
  }
  return filtered_by_all(part, join(examples));
}

Examples joined(const Located<proto::Pipeline>& file, const std::string& directory) {
  if (file->join().empty()) return read_examples(file, directory);
  const auto belongs_inside = [&](const char* field, bool given, int index = -1) {
    if (given)
      fail(Code::invalid_argument, file.place(field, index), ": beside join { ... } there is no ",
           field, ": each join has its own");
  };
  belongs_inside("stream", !file->stream().empty(), 0);
  belongs_inside("split", file->has_split());
  belongs_inside("shard", file->has_shard());
  belongs_inside("epochs", file->has_epochs());
  belongs_inside("shuffle_files", file->has_shuffle_files());
  belongs_inside("decoding", file->has_decoding());
  std::vector<Examples> streams;
  for (int i = 0; i < file->join_size(); ++i)
    streams.push_back(read_examples(file.inside("join", file->join(i), i), directory));
  return filtered_by_all(file, at_place(file.place("join", 0), [&] { return join(streams); }));
}

// ---- queue and batches -----------------------------------------------------------------------

Examples queue(const Located<proto::Pipeline>& file, const Examples& examples) {
  if (file->has_shuffle()) {
    const auto written = file.inside("shuffle", file->shuffle());
    ShuffleOptions options;
    if (written->has_capacity()) options.capacity = written->capacity();
    if (written->has_min_after_dequeue()) options.min_after_dequeue = written->min_after_dequeue();
    options.capacity_bytes = bytes(written, "capacity_bytes", written->capacity_bytes());
    return at_place(written.place(), [&] { return examples.shuffle(options); });
  }
  if (!file->has_fifo()) {
    if (file->has_bucket_by_length()) return examples;  // it makes a queue that is large enough
    fail(Code::invalid_argument, file.place(),
         ": a pipeline has a queue: shuffle { ... } or fifo { ... }");
  }
  const auto written = file.inside("fifo", file->fifo());
  BufferOptions options;
  if (written->has_capacity()) options.capacity = written->capacity();
  options.capacity_bytes = bytes(written, "capacity_bytes", written->capacity_bytes());
  return at_place(written.place(), [&] { return examples.buffer(options); });
}

template <class Message>
Remainder remainder(const Located<Message>& batch) {
  if (batch->remainder() != proto::Batching::KEEP && batch->remainder() != proto::Batching::DROP)
    fail(Code::invalid_argument, batch.place(),
         ": say what happens to the rows at the end that fill no batch: remainder: KEEP or DROP");
  return batch->remainder() == proto::Batching::KEEP ? Remainder::keep : Remainder::drop;
}

template <class Message>
PadOptions pad_options(const Located<Message>& batch) {
  const auto padding = batch.inside("padding", batch->padding());
  PadOptions options;
  if (!padding->value().empty())
    options.values.assign(padding->value().begin(), padding->value().end());
  if (padding->has_batch_bytes())
    options.batch_bytes = bytes(padding, "batch_bytes", padding->batch_bytes());
  return options;
}

Batches batched(const Located<proto::Batching>& batch, const Examples& examples) {
  const auto rule = remainder(batch);
  const auto made = at_place(batch.place("rows"), [&] {
    if (!batch->has_padding()) return examples.batch(batch->rows(), rule);
    return examples.padded_batch(batch->rows(), rule, pad_options(batch));
  });
  return batch->in_order() ? made.in_order() : made;
}

Batches bucketed(const Located<proto::Bucketing>& buckets, const Examples& examples) {
  BucketOptions options;
  options.boundaries.assign(buckets->boundaries().begin(), buckets->boundaries().end());
  options.batch_sizes.assign(buckets->batch_sizes().begin(), buckets->batch_sizes().end());
  options.padding = pad_options(buckets);
  if (buckets->has_length()) {
    const auto length = buckets.inside("length", buckets->length());
    const auto& spec = component_of(length, examples);
    if (length->axis() < 0 || length->axis() >= spec.shape.rank())
      fail(Code::invalid_argument, length.place("axis"), ": there is no axis ", length->axis(),
           "; component ", length->component(), " is ", spec);
    options.length = [component = static_cast<std::size_t>(length->component()),
                      axis = static_cast<int>(length->axis())](const Element& element) {
      return element.at(component).shape()[axis];
    };
  }
  const auto rule = remainder(buckets);
  const auto made =
      at_place(buckets.place(), [&] { return examples.bucket_by_length(options, rule); });
  return buckets->in_order() ? made.in_order() : made;
}

Batches batches(const Located<proto::Pipeline>& file, const Examples& examples) {
  if (file->has_batch() == file->has_bucket_by_length())
    fail(Code::invalid_argument, file->has_batch() ? file.place("bucket_by_length") : file.place(),
         ": a pipeline ends with batch { rows: ... remainder: ... } or with bucket_by_length { ",
         "boundaries: ... batch_sizes: ... remainder: ... }");
  auto made = file->has_batch()
                  ? batched(file.inside("batch", file->batch()), examples)
                  : bucketed(file.inside("bucket_by_length", file->bucket_by_length()), examples);
  if (!file->has_prefetch()) return made;
  return at_place(file.place("prefetch"), [&] { return made.prefetch(file->prefetch()); });
}

}  // namespace

Batches pipeline_of(const Located<proto::Pipeline>& file, const std::string& directory) {
  return batches(file, queue(file, joined(file, directory)));
}

Batches parse_pipeline(const std::string& text, const std::string& path) {
  proto::Pipeline message;
  TextPlaces places(path);
  FileProblems problems;
  places.parse(text, message, problems);
  problems.expect_none();
  return pipeline_of({message, places, path}, directory_of(path));
}

Batches read_pipeline(const std::string& path) {
  return parse_pipeline(read_small_file(path), path);
}

}  // namespace troupe
