#include "troupe/actors/pipeline/builtin_formats.h"

#include <limits>

#include "troupe/actors/decoders/idx_decoder.h"
#include "troupe/actors/decoders/number_decoder.h"
#include "troupe/actors/pipeline/arrays.h"
#include "troupe/actors/pipeline/libsvm.h"
#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/idx_source.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/actors/readers/text_line_source.h"

namespace troupe {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

// ---- readers ---------------------------------------------------------------------------------

TextLineOptions text_options(const OptionMap& o) {
  TextLineOptions options;
  options.files = o.files("files");
  options.skip_header_lines = o.integer("skip_header_lines", 0, 0, kAny);
  options.allow_empty = o.flag("allow_empty", false);
  options.max_line_bytes = static_cast<std::size_t>(
      o.integer("max_line_bytes", static_cast<std::int64_t>(options.max_line_bytes), 1,
                std::int64_t{kMaxRecordBytes}));
  return options;
}

Records text_reader(const OptionMap& o) {
  const auto options = text_options(o);
  const TextLineSource probe(options);
  return {[options] { return std::make_unique<TextLineSource>(options); }, probe.describe()};
}

Records libsvm_reader(const OptionMap& o) { return read_libsvm(text_options(o)); }

Records idx_reader(const OptionMap& o) {
  IdxOptions options;
  options.files = o.files("files");
  options.allow_empty = o.flag("allow_empty", false);
  const IdxSource probe(options);
  std::int64_t count = 0;
  for (const auto& file : expand_files(options.files)) count += read_idx_header(file).count;
  return {[options] { return std::make_unique<IdxSource>(options); }, probe.describe(), count};
}

Records npy_reader(const OptionMap& o) {
  NpyOptions options;
  options.files = o.files("files");
  options.member = o.text("array", "");
  options.allow_empty = o.flag("allow_empty", false);
  return read_npy(options);
}

// ---- decoders --------------------------------------------------------------------------------

/// The first file that the reader reads: its header says what the records are.
std::string first_file(const OptionMap& reader) { return expand_files(reader.files("files"))[0]; }

DecoderFactory number_decoder(const OptionMap& o, const OptionMap&) {
  NumberDecoderOptions options;
  options.shape = o.shape("shape");
  options.dtype = o.dtype("dtype", options.dtype);
  options.delimiter = o.character("delimiter", ' ');
  options.merge_delimiters = o.flag("merge_delimiters", options.delimiter == ' ');
  options.trailing_delimiter = o.flag("trailing_delimiter", options.trailing_delimiter);
  options.allow_non_finite = o.flag("allow_non_finite", false);
  options.name = o.text("component", "");
  return [options] { return std::make_shared<NumberDecoder>(options); };
}

DecoderFactory idx_decoder(const OptionMap& o, const OptionMap& reader) {
  const auto header = read_idx_header(first_file(reader));
  IdxDecoderOptions options;
  options.dtype = o.dtype("dtype", header.dtype);
  options.scale = o.number("scale", 1);
  options.shape = o.shape("shape", options.shape);
  options.name = o.text("component", "");
  return [=] { return std::make_shared<IdxDecoder>(header, options); };
}

DecoderFactory idx_pixel_decoder(const OptionMap&, const OptionMap& reader) {
  return idx_pixels(first_file(reader));
}

DecoderFactory idx_label_decoder(const OptionMap&, const OptionMap& reader) {
  return idx_labels(first_file(reader));
}

DecoderFactory npy_decoder(const OptionMap& o, const OptionMap& reader) {
  const auto header = read_npy_header(first_file(reader), reader.text("array", ""));
  NpyDecoderOptions options;
  options.dtype = o.dtype("dtype", header.dtype);
  options.scale = o.number("scale", 1);
  options.shape = o.shape("shape", options.shape);
  options.name = o.text("component", "");
  return [=] { return std::make_shared<NpyDecoder>(header, options); };
}

DecoderFactory libsvm_decoder(const OptionMap& o, const OptionMap&) {
  LibsvmDecoderOptions options;
  options.sparse = o.flag("sparse", false);
  options.features = o.integer("features", 0, 0, kAny);
  options.zero_based = o.flag("zero_based", false);
  options.label = o.dtype("label", options.label);
  options.ignore_query_id = o.flag("ignore_query_id", false);
  options.allow_non_finite = o.flag("allow_non_finite", false);
  return libsvm(options);
}

}  // namespace

std::vector<ReaderFormat> builtin_readers() {
  return {
      {"text", "lines of text files", text_reader},
      {"idx", "items of IDX files, the format of MNIST", idx_reader},
      {"npy", "rows of arrays that NumPy has saved (.npy, .npz)", npy_reader},
      {"libsvm", "examples in LIBSVM's sparse text", libsvm_reader},
  };
}

std::vector<DecoderFormat> builtin_decoders() {
  return {
      {"numbers", "lines of numbers with something between them", number_decoder},
      {"idx", "items of IDX files", idx_decoder},
      {"idx_pixels", "bytes of IDX files as float32 from 0 to 1", idx_pixel_decoder},
      {"idx_labels", "values of IDX files as int64", idx_label_decoder},
      {"npy", "rows of arrays", npy_decoder},
      {"libsvm", "LIBSVM's sparse text, dense or sparse", libsvm_decoder},
  };
}

}  // namespace troupe
