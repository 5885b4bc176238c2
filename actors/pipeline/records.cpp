#include "troupe/actors/pipeline/records.h"

#include <utility>

#include "troupe/actors/decoders/raw_decoder.h"
#include "troupe/actors/pipeline/records_of.h"
#include "troupe/actors/readers/shard_source.h"

namespace troupe {
namespace {

FixedLengthOptions with_bytes(FixedLengthOptions options, std::size_t record_bytes) {
  options.record_bytes = record_bytes;
  return options;
}

}  // namespace

Records read_lines(const std::vector<std::string>& files, const TextLineOptions& options) {
  return splittable<TextLineSource>(files, options, [options](const auto& path, std::size_t count) {
    return split_lines(path, count, options.skip_header_lines);
  });
}

Records read_tfrecord(const std::vector<std::string>& files, const TFRecordOptions& options) {
  return records_of<TFRecordSource>(files, options)
      .with_split([files](std::size_t) -> std::vector<Records> {
        fail(Code::invalid_argument, "TFRecords of ", describe_files(files),
             " cannot be split in ranges of bytes: where a record begins is known only from the ",
             "lengths of all before it. Write several files, and join a reader of each");
      });
}

Records read_fixed_length(const std::vector<std::string>& files, std::size_t record_bytes,
                          const FixedLengthOptions& options) {
  return splittable<FixedLengthSource>(files, with_bytes(options, record_bytes),
                                       [options](const auto& path, std::size_t count) {
                                         return split_file(path, count, options.header_bytes);
                                       });
}

Records read_files(const std::vector<std::string>& files, const WholeFileOptions& options) {
  return records_of<WholeFileSource>(files, options);
}

FileOpener lines(const TextLineOptions& options) { return opener_of<TextLineSource>(options); }

FileOpener tfrecords(const TFRecordOptions& options) { return opener_of<TFRecordSource>(options); }

FileOpener fixed_length(std::size_t record_bytes, const FixedLengthOptions& options) {
  return opener_of<FixedLengthSource>(with_bytes(options, record_bytes));
}

FileOpener whole_files(const WholeFileOptions& options) {
  return opener_of<WholeFileSource>(options);
}

Records interleave(const std::vector<std::string>& files, const FileOpener& open,
                   const InterleaveOptions& options) {
  const auto paths = expand_files(files);
  const auto make = [=] {
    return std::make_unique<InterleaveSource>(
        paths.size(), [paths, open](std::size_t i) { return open(paths[i]); },
        describe_files(paths), options);
  };
  return {make, make()->describe()};
}

Records interleave(const std::vector<Records>& inputs, const InterleaveOptions& options) {
  std::string description;
  std::int64_t count = 0;
  bool known = true;
  for (const auto& input : inputs) {
    description += (description.empty() ? "" : " + ") + input.description();
    known = known && input.total() > 0;
    count += input.total();
  }
  const auto make = [=] {
    return std::make_unique<InterleaveSource>(
        inputs.size(), [inputs](std::size_t i) { return inputs[i].open(); }, description, options);
  };
  return {make, make()->describe(), known ? count : 0};
}

Records shard(const Records& records, std::size_t index, std::size_t count) {
  if (records.epochs() != 1)
    fail(Code::invalid_argument, "shard records before they are repeated: ", records.description());
  const auto make = [=] { return std::make_unique<ShardSource>(records.open(), index, count); };
  const auto probe = make();
  const auto all = static_cast<std::size_t>(records.count());
  const auto mine = all > index ? 1 + (all - 1 - index) / count : 0;
  return {make, probe->describe(), static_cast<std::int64_t>(mine)};
}

DecoderFactory raw_bytes(DType dtype, const Shape& shape) {
  RawDecoderOptions options;
  options.dtype = dtype;
  options.shape = shape;
  return [options] { return std::make_shared<RawDecoder>(options); };
}

DecoderFactory example_features(std::vector<ExampleFeature> features) {
  return sequence_features(std::move(features), {});
}

DecoderFactory sequence_features(std::vector<ExampleFeature> context,
                                 std::vector<ExampleFeature> steps) {
  ExampleDecoderOptions options{std::move(context), std::move(steps)};
  return [options] { return std::make_shared<ExampleDecoder>(options); };
}

}  // namespace troupe
