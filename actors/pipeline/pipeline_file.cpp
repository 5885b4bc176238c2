#include "troupe/actors/pipeline/pipeline_file.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "troupe/actors/pipeline/catalog.h"
#include "troupe/actors/readers/input_file.h"
#include "troupe/messages/proto/pipeline.pb.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using google::protobuf::TextFormat;

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;

/// Keeps the first complaint of the text parser.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(const std::string& path) : path_(path) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (first_.empty()) first_ = text(path_, ":", line + 1, ":", column + 1, ": ", message);
  }
  const std::string& message() const { return first_; }

 private:
  const std::string& path_;
  std::string first_;
};

/// A message of the file, and where its fields stand.
template <class Message>
class Located {
 public:
  Located(const Message& message, const TextFormat::ParseInfoTree* places, std::string path,
          std::string own)
      : message_(message), places_(places), path_(std::move(path)), own_(std::move(own)) {}

  const Message& operator*() const { return message_; }
  const Message* operator->() const { return &message_; }
  /// "train.pbtxt:4:5", where the message begins.
  const std::string& place() const { return own_; }

  /// Where a field stands, or else where the message begins.
  std::string place(const char* field, int index = -1) const {
    const auto* descriptor = Message::descriptor()->FindFieldByName(field);
    if (places_ == nullptr || descriptor == nullptr) return own_;
    const auto at = places_->GetLocation(descriptor, index);
    return at.line < 0 ? own_ : text(path_, ":", at.line + 1, ":", at.column + 1);
  }

  template <class Inner>
  Located<Inner> inside(const char* field, const Inner& inner, int index = -1) const {
    const auto* descriptor = Message::descriptor()->FindFieldByName(field);
    return {inner, places_ == nullptr ? nullptr : places_->GetTreeForNested(descriptor, index),
            path_, place(field, index)};
  }

 private:
  const Message& message_;
  const TextFormat::ParseInfoTree* places_;
  std::string path_;
  std::string own_;
};

/// "train.pbtxt" of "train.pbtxt:4:5".
std::string_view file_of(std::string_view place) {
  for (int part = 0; part < 2; ++part) place = place.substr(0, place.find_last_of(':'));
  return place;
}

/// Does something whose errors belong to a place of the file.
template <class Work>
auto at(const std::string& place, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    // An option knows its own place.
    if (std::string_view(error.what()).starts_with(text(file_of(place), ':'))) throw;
    throw error.within(place);
  }
}

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

struct Stream {
  Records records;
  std::vector<DecoderFactory> decoders;
};

Stream read_stream(const Located<proto::Stream>& stream, const std::string& directory) {
  if (!stream->has_reader() || stream->decoder().empty())
    fail(Code::invalid_argument, stream.place(), ": a stream has a reader and a decoder");
  const auto reader = stream.inside("reader", stream->reader());
  const auto reading = options_of(reader, directory);
  Stream made{at(reader.place(), [&] { return read_records(reader->name(), reading); }), {}};
  for (int i = 0; i < stream->decoder_size(); ++i) {
    const auto decoder = stream.inside("decoder", stream->decoder(i), i);
    made.decoders.push_back(at(decoder.place(), [&] {
      auto factory = decoder_of(decoder->name(), options_of(decoder, directory), reading);
      (void)factory()->components();  // complains about options that do not go together
      return factory;
    }));
  }
  return made;
}

template <class Message, class Number>
void set_number(Number& to, const Located<Message>& message, const char* field, bool given,
                std::int64_t value, std::int64_t least) {
  if (!given) return;
  if (value < least || value > std::numeric_limits<int>::max())
    fail(Code::invalid_argument, message.place(field), ": ", field, " is ", value,
         "; it goes from ", least, " to ", std::numeric_limits<int>::max());
  to = static_cast<Number>(value);
}

DecodeOptions decode_options(const Located<proto::Decoding>& d) {
  DecodeOptions options;
  set_number(options.decoders, d, "decoders", d->has_decoders(), d->decoders(), 0);
  set_number(options.block_records, d, "block_records", d->has_block_records(), d->block_records(),
             1);
  set_number(options.block_bytes, d, "block_bytes", d->has_block_bytes(), d->block_bytes(), 1);
  set_number(options.skip_bad_records, d, "skip_bad_records", d->has_skip_bad_records(),
             d->skip_bad_records(), 0);
  return options;
}

/// A number of bytes, elements or rows; the builder has the last word about it.
template <class Message>
std::uint64_t bytes(const Located<Message>& message, const char* field, std::int64_t value) {
  if (value < 0)
    fail(Code::invalid_argument, message.place(field), ": ", field, " is ", value,
         "; it is at least 0");
  return static_cast<std::uint64_t>(value);
}

Examples queue(const Located<proto::Pipeline>& file, const Examples& examples) {
  if (file->has_shuffle()) {
    const auto written = file.inside("shuffle", file->shuffle());
    ShuffleOptions options;
    if (written->has_capacity()) options.capacity = written->capacity();
    if (written->has_min_after_dequeue()) options.min_after_dequeue = written->min_after_dequeue();
    options.capacity_bytes = bytes(written, "capacity_bytes", written->capacity_bytes());
    return at(written.place(), [&] { return examples.shuffle(options); });
  }
  if (!file->has_fifo())
    fail(Code::invalid_argument, file.place(),
         ": a pipeline has a queue: shuffle { ... } or fifo { ... }");
  const auto written = file.inside("fifo", file->fifo());
  BufferOptions options;
  if (written->has_capacity()) options.capacity = written->capacity();
  options.capacity_bytes = bytes(written, "capacity_bytes", written->capacity_bytes());
  return at(written.place(), [&] { return examples.buffer(options); });
}

Batches batches(const Located<proto::Pipeline>& file, const Examples& examples) {
  if (!file->has_batch())
    fail(Code::invalid_argument, file.place(),
         ": a pipeline ends with batch { rows: ... remainder: ... }");
  const auto batch = file.inside("batch", file->batch());
  if (batch->remainder() != proto::Batching::KEEP && batch->remainder() != proto::Batching::DROP)
    fail(Code::invalid_argument, batch.place(),
         ": say what happens to the rows at the end that fill no batch: remainder: KEEP or DROP");
  const auto remainder =
      batch->remainder() == proto::Batching::KEEP ? Remainder::keep : Remainder::drop;
  const auto made = at(batch.place("rows"), [&] {
    if (!batch->has_padding()) return examples.batch(batch->rows(), remainder);
    const auto padding = batch.inside("padding", batch->padding());
    PadOptions options;
    if (!padding->value().empty())
      options.values.assign(padding->value().begin(), padding->value().end());
    if (padding->has_batch_bytes())
      options.batch_bytes = bytes(padding, "batch_bytes", padding->batch_bytes());
    return examples.padded_batch(batch->rows(), remainder, options);
  });
  return batch->in_order() ? made.in_order() : made;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {};
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Batches parse_pipeline(const std::string& text, const std::string& path) {
  proto::Pipeline message;
  TextFormat::ParseInfoTree places;
  FirstError first(path);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  parser.WriteLocationsTo(&places);
  if (!parser.ParseFromString(text, &message)) fail(Code::invalid_argument, first.message());

  const Located<proto::Pipeline> file(message, &places, path, path);
  if (message.stream().empty())
    fail(Code::invalid_argument, path,
         ": a pipeline has a stream { reader { ... } decoder { ... } }, or several");
  std::vector<Stream> streams;
  for (int i = 0; i < message.stream_size(); ++i)
    streams.push_back(read_stream(file.inside("stream", message.stream(i), i), directory_of(path)));

  auto records = streams[0].records;
  auto decoders = streams[0].decoders;
  for (int i = 1; i < message.stream_size(); ++i) {
    const auto& stream = streams[static_cast<std::size_t>(i)];
    records = at(file.place("stream", i), [&] { return records.zip(stream.records); });
    decoders.insert(decoders.end(), stream.decoders.begin(), stream.decoders.end());
  }
  std::optional<std::uint64_t> seed;
  if (message.has_shuffle_files()) seed = message.shuffle_files();
  if (message.has_epochs() || seed)
    records = at(file.place(message.has_epochs() ? "epochs" : "shuffle_files"),
                 [&] { return records.repeat(message.has_epochs() ? message.epochs() : 1, seed); });
  const auto decoding = file.inside("decoding", message.decoding());
  const auto examples =
      at(decoding.place(), [&] { return records.decode(decoders, decode_options(decoding)); });
  return batches(file, queue(file, examples));
}

Batches read_pipeline(const std::string& path) {
  InputFile file(path);
  std::string text(kMaxFileBytes + 1, '\0');
  text.resize(file.read(text.data(), text.size()));
  if (text.size() > kMaxFileBytes)
    fail(Code::resource_exhausted, path, ": a pipeline file has at most ", kMaxFileBytes, " bytes");
  return parse_pipeline(text, path);
}

}  // namespace troupe
