#include "troupe/actors/pipeline/builtin_formats.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include "troupe/actors/decoders/number_decoder.h"
#include "troupe/actors/decoders/raw_decoder.h"
#include "troupe/actors/pipeline/arrays.h"
#include "troupe/actors/pipeline/csv.h"
#include "troupe/actors/pipeline/images.h"
#include "troupe/actors/pipeline/libsvm.h"
#include "troupe/actors/pipeline/records.h"
#include "troupe/actors/readers/file_list.h"
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

Records text_reader(const OptionMap& o) { return read_lines(o.files("files"), text_options(o)); }

Records libsvm_reader(const OptionMap& o) { return read_libsvm(text_options(o)); }

FilesOptions files_options(const OptionMap& o) {
  return {.files = o.files("files"), .allow_empty = o.flag("allow_empty", false)};
}

Records idx_reader(const OptionMap& o) { return read_arrays(files_options(o), idx_format()); }

Records npy_reader(const OptionMap& o) {
  return read_arrays(files_options(o), npy_format(o.text("array", "")));
}

CsvOptions csv_options(const OptionMap& o) {
  CsvOptions options;
  options.header = o.flag("header", false);
  options.skip_lines = o.integer("skip_lines", 0, 0, kAny);
  options.skip_blank_lines = o.flag("skip_blank_lines", false);
  options.quoted_newlines = o.flag("quoted_newlines", true);
  options.allow_empty = o.flag("allow_empty", false);
  options.syntax.delimiter = o.character("delimiter", ',');
  options.syntax.quotes = o.flag("quotes", true);
  options.syntax.merge_delimiters = o.flag("merge_delimiters", false);
  options.syntax.trailing_delimiter = o.flag("trailing_delimiter", false);
  return options;
}

Records csv_reader(const OptionMap& o) { return read_csv(o.files("files"), csv_options(o)); }

Records tfrecord_reader(const OptionMap& o) {
  TFRecordOptions options;
  options.allow_empty = o.flag("allow_empty", false);
  options.check_data = o.flag("check_data", true);
  return read_tfrecord(o.files("files"), options);
}

std::size_t byte_count(const OptionMap& o, const std::string& name, std::int64_t fallback) {
  return static_cast<std::size_t>(o.integer(name, fallback, 0, std::int64_t{kMaxRecordBytes}));
}

Records fixed_length_reader(const OptionMap& o) {
  FixedLengthOptions options;
  options.header_bytes = byte_count(o, "header_bytes", 0);
  options.footer_bytes = byte_count(o, "footer_bytes", 0);
  options.hop_bytes = byte_count(o, "hop_bytes", 0);
  options.allow_empty = o.flag("allow_empty", false);
  return read_fixed_length(
      o.files("files"),
      static_cast<std::size_t>(o.integer("record_bytes", 1, std::int64_t{kMaxRecordBytes})),
      options);
}

Records whole_file_reader(const OptionMap& o) {
  WholeFileOptions options;
  options.allow_empty = o.flag("allow_empty", false);
  return read_files(o.files("files"), options);
}

Records image_folder_reader(const OptionMap& o) {
  const auto directories = o.files("directory");
  if (directories.size() != 1) o.refuse("directory", "is one directory");
  return read_image_folder(directories[0]);
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

DecoderFactory array_decoder(const OptionMap& o, const ArrayHeader& header) {
  ArrayDecoderOptions options;
  options.dtype = o.dtype("dtype", header.dtype);
  options.scale = o.number("scale", 1);
  options.shape = o.shape("shape", options.shape);
  options.name = o.text("component", "");
  return array_items(header, options);
}

DecoderFactory idx_decoder(const OptionMap& o, const OptionMap& reader) {
  return array_decoder(o, open_idx(first_file(reader)).header);
}

DecoderFactory npy_decoder(const OptionMap& o, const OptionMap& reader) {
  return array_decoder(o, open_npy(first_file(reader), reader.text("array", "")).header);
}

DecoderFactory idx_pixel_decoder(const OptionMap&, const OptionMap& reader) {
  return idx_pixels(first_file(reader));
}

DecoderFactory idx_label_decoder(const OptionMap&, const OptionMap& reader) {
  return idx_labels(first_file(reader));
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

/// "price float32 -1" in words.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

DType dtype_in(const OptionMap& o, const std::string& option, const std::string& word) {
  try {
    return parse_dtype(word);
  } catch (const Error& error) {
    o.refuse(option, "names no dtype: ", error.what());
  }
}

/// "name category vocabulary.txt" or "name hashed buckets", and behind that "or_id 0",
/// "unknown_id 7" or "hash_unknown 100".
CsvColumn category_column(const OptionMap& o, const std::string& text,
                          const std::vector<std::string>& words) {
  const auto number = [&](const std::string& word) {
    try {
      return OptionMap{{"number", word}}.integer("number", 0, kAny);
    } catch (const Error&) {
      o.refuse("columns", "has \"", text, "\", where ", word, " is not a number from 0 on");
    }
  };
  const bool hashed = words[1] == "hashed";
  UnknownCategory unknown;
  std::optional<std::int64_t> id;
  for (std::size_t i = 3; i < words.size(); i += 2) {
    const auto& rule = words[i];
    const auto value = i + 1 < words.size() ? number(words[i + 1]) : -1;
    if (value >= 0 && rule == "or_id")
      id = value;
    else if (value >= 0 && rule == "unknown_id" && !hashed)
      unknown = csv::unknown_id(value);
    else if (value >= 0 && rule == "hash_unknown" && !hashed)
      unknown = csv::hash_unknown(value);
    else
      o.refuse("columns", "has \"", text, "\": behind ", hashed ? "its buckets" : "its vocabulary",
               " may stand or_id", hashed ? "" : ", unknown_id or hash_unknown", " and a number");
  }
  const auto column = hashed ? csv::hashed(words[0], number(words[2]))
                             : csv::category(words[0], csv_vocabulary(o.path(words[2])), unknown);
  return id ? column.or_id(*id) : column;
}

/// "name dtype", "name dtype default", or a category.
CsvColumn csv_column(const OptionMap& o, const std::string& text) {
  const auto words = words_of(text);
  if (words.size() > 2 && (words[1] == "category" || words[1] == "hashed"))
    return category_column(o, text, words);
  if (words.size() < 2 || words.size() > 3)
    o.refuse("columns", "has \"", text,
             "\", which is not \"name dtype\", \"name dtype default\", \"name category file\" or "
             "\"name hashed buckets\"");
  CsvColumn column{words[0], dtype_in(o, "columns", words[1])};
  if (words.size() == 2) return column;
  if (column.dtype == DType::string) {
    column.fallback = Tensor::scalar<std::string>(words[2]);
    return column;
  }
  const OptionMap value{{"default", words[2]}};
  try {
    column.fallback =
        is_integer(column.dtype)
            ? Tensor::scalar<std::int64_t>(value.integer("default", -kAny, kAny)).cast(column.dtype)
            : Tensor::scalar<double>(value.number("default", 0)).cast(column.dtype);
  } catch (const Error&) {
    o.refuse("columns", "has \"", text, "\", whose default is no ", column.dtype);
  }
  return column;
}

/// A component, by the positions of its columns in the option 'columns'.
struct CsvPiece {
  std::string name;
  std::vector<std::size_t> columns;
  bool stacked = false;
};

/// Columns as components. "features" stacks all of them, "features rooms age" these two,
/// where the first of them stands.
std::vector<CsvPiece> csv_pieces(const OptionMap& o, const std::vector<CsvColumn>& columns) {
  std::vector<CsvPiece> pieces;
  for (std::size_t i = 0; i < columns.size(); ++i) pieces.push_back({columns[i].name, {i}});
  for (const auto& text : o.list("stack")) {
    auto words = words_of(text);
    if (words.empty()) o.refuse("stack", "has no name");
    if (words.size() == 1)
      for (const auto& column : columns) words.push_back(column.name);
    CsvPiece stack{words[0], {}, true};
    std::size_t place = 0;
    for (std::size_t w = 1; w < words.size(); ++w) {
      const auto piece = std::ranges::find_if(
          pieces, [&](const auto& other) { return !other.stacked && other.name == words[w]; });
      if (piece == pieces.end())
        o.refuse("stack", "has \"", text, "\", but there is no column '", words[w],
                 "', or it is stacked already");
      stack.columns.push_back(piece->columns[0]);
      const auto at = static_cast<std::size_t>(piece - pieces.begin());
      if (w == 1) {
        place = at;
        piece->stacked = true;
      } else {
        if (at < place) --place;
        pieces.erase(piece);
      }
    }
    pieces[place] = std::move(stack);
  }
  return pieces;
}

CsvNumbers csv_numbers(const OptionMap& o) {
  const auto name = o.text("numbers", "tensorflow_1");
  if (name != "tensorflow_1" && name != "tensorflow_2")
    o.refuse("numbers", "is \"", name, "\", which is neither tensorflow_1 nor tensorflow_2");
  return name == "tensorflow_1" ? CsvNumbers::tensorflow_1 : CsvNumbers::tensorflow_2;
}

DecoderFactory csv_decoder(const OptionMap& o, const OptionMap& reader) {
  std::vector<CsvColumn> columns;
  const bool finite = !o.flag("allow_non_finite", true);
  for (const auto& text : o.list("columns")) {
    auto column = csv_column(o, text);
    column.allow_non_finite = !finite || !is_floating(column.dtype);
    columns.push_back(std::move(column));
  }
  if (columns.empty()) o.refuse("columns", "must be given: \"name dtype\", once for each column");
  const auto reading = csv_options(reader);
  CsvDecoderOptions options;
  options.syntax = reading.syntax;
  options.na_value = o.text("na_value", "");
  options.numbers = csv_numbers(o);
  const auto selected = o.integers("select_cols", 0, kAny);
  if (!selected.empty() && selected.size() != columns.size())
    o.refuse("select_cols", "has ", selected.size(), " positions for ", columns.size(), " columns");
  if (reading.header) options.header = csv_header(reader.files("files"), reading);

  std::vector<CsvComponent> components;
  std::vector<std::size_t> order;
  for (const auto& piece : csv_pieces(o, columns)) {
    std::vector<CsvColumn> own;
    for (const auto column : piece.columns) own.push_back(columns[column]);
    components.push_back(piece.stacked ? csv::stack(piece.name, own) : own[0]);
    order.insert(order.end(), piece.columns.begin(), piece.columns.end());
  }
  for (const auto column : order)
    if (!selected.empty()) options.select_cols.push_back(selected[column]);
  // Stacks have changed the order, so fields are found by the names of their columns.
  if (selected.empty() && !reading.header && !std::ranges::is_sorted(order))
    for (const auto& column : columns) options.header.push_back(column.name);
  return csv_columns(std::move(components), std::move(options));
}

DecoderFactory raw_decoder(const OptionMap& o, const OptionMap&) {
  RawDecoderOptions options;
  options.dtype = o.dtype("dtype", options.dtype);
  options.shape = o.varying_shape("shape", options.shape);
  options.big_endian = o.flag("big_endian", false);
  options.name = o.text("component", "");
  return [options] { return std::make_shared<RawDecoder>(options); };
}

/// "name dtype", "name dtype 28,28,1", with "raw" behind it for values in one string.
ExampleFeature example_feature(const OptionMap& o, const std::string& text) {
  auto words = words_of(text);
  ExampleFeature feature;
  if (words.size() > 2 && words.back() == "raw") {
    feature.raw = true;
    words.pop_back();
  }
  if (words.size() < 2 || words.size() > 3)
    o.refuse("features", "has \"", text, "\", which is not \"name dtype\" or \"name dtype shape\"");
  feature.name = words[0];
  feature.dtype = dtype_in(o, "features", words[1]);
  if (words.size() == 3) {
    try {
      feature.shape = OptionMap{{"shape", words[2]}}.varying_shape("shape", {});
    } catch (const Error&) {
      o.refuse("features", "has \"", text, "\", whose shape is none");
    }
  }
  return feature;
}

DecoderFactory example_decoder(const OptionMap& o, const OptionMap&) {
  std::vector<ExampleFeature> features;
  for (const auto& text : o.list("features")) features.push_back(example_feature(o, text));
  if (features.empty()) o.refuse("features", "must be given: \"name dtype shape\", once for each");
  return example_features(std::move(features));
}

DecoderFactory image_decoder(const OptionMap& o, const OptionMap&) {
  ImageDecoderOptions options;
  options.dtype = o.dtype("dtype", options.dtype);
  options.height = o.integer("height", options.height, 1, kAny);
  options.width = o.integer("width", options.width, 1, kAny);
  options.channels = o.integer("channels", options.channels, 0, 4);
  options.name = o.text("component", "");
  return images(options);
}

DecoderFactory image_label_decoder(const OptionMap&, const OptionMap&) { return image_labels(); }

}  // namespace

std::vector<ReaderFormat> builtin_readers() {
  return {
      {"text", "lines of text files", text_reader},
      {"idx", "items of IDX files, the format of MNIST", idx_reader},
      {"npy", "rows of arrays that NumPy has saved (.npy, .npz)", npy_reader},
      {"libsvm", "examples in LIBSVM's sparse text", libsvm_reader},
      {"csv", "records of CSV files", csv_reader},
      {"tfrecord", "records of TFRecord files", tfrecord_reader},
      {"fixed_length", "records of a fixed number of bytes", fixed_length_reader},
      {"files", "files, each a record", whole_file_reader},
      {"image_folder", "images in a folder for each class; two decoders", image_folder_reader},
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
      {"csv", "columns of CSV records", csv_decoder},
      {"raw", "bytes as the values of a tensor", raw_decoder},
      {"example", "features of tf.train.Example messages", example_decoder},
      {"images", "JPEG and PNG files", image_decoder},
      {"image_labels", "class numbers of image_folder", image_label_decoder},
  };
}

}  // namespace troupe
