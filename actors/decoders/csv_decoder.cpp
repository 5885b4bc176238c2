#include "troupe/actors/decoders/csv_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::int64_t kMostFields = std::int64_t{1} << 24;
// Rows share tensors of about so many bytes: many small ones, but not so many that
// the last of them, waiting in a queue, keeps much of what has long been used.
constexpr std::size_t kSharedBytes = std::size_t{16} << 10;

simd::CsvKind kind_of(const CsvColumn& column) {
  if (column.categories) return simd::CsvKind::other;
  switch (column.dtype) {
    case DType::float32:
      return simd::CsvKind::float32;
    case DType::float64:
      return simd::CsvKind::float64;
    case DType::int32:
      return simd::CsvKind::int32;
    case DType::int64:
      return simd::CsvKind::int64;
    default:
      return simd::CsvKind::other;
  }
}

void check(const CsvColumn& column) {
  const auto type = column.dtype;
  const bool known = kind_of(column) != simd::CsvKind::other || type == DType::string ||
                     type == DType::boolean || column.categories;
  if (!known)
    fail(Code::invalid_argument, "column '", column.name,
         "': fields are decoded to float32, float64, int32, int64, string or bool, not to ", type);
  if (column.categories && type != DType::int64)
    fail(Code::invalid_argument, "column '", column.name, "': categories are int64, not ", type);
  if (!column.allow_non_finite && (column.categories || !is_floating(type)))
    fail(Code::invalid_argument, "column '", column.name, "' is ", type,
         ", which is always finite (csv::finite is for floats)");
  const auto& fallback = column.fallback;
  if (fallback && (fallback->size() != 1 || fallback->dtype() != type))
    fail(Code::invalid_argument, "column '", column.name, "': the default is one ", type,
         ", but is ", fallback->dtype(), ' ', fallback->shape());
}

bool parse_bool(std::string_view text, bool& value) {
  text = without_blanks(text);
  const auto is = [text](std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) {
      return a == b || (b >= 'a' && b <= 'z' && a == static_cast<char>(b - 'a' + 'A'));
    });
  };
  value = is("true") || is("1");
  return value || is("false") || is("0");
}

template <class T>
bool store_number(std::string_view text, CsvNumbers rules, char* out) {
  T value;
  if (!parse_csv_number(text, rules, value)) return false;
  std::memcpy(out, &value, sizeof value);
  return true;
}

std::string_view text_of(const RecordRun& run, std::size_t i) {
  return {run.begin(i), static_cast<std::size_t>(run.end(i) - run.begin(i))};
}

/// Throws for what is wrong at one byte of a record.
[[noreturn]] void fail_at(const RecordRun& run, std::size_t i, const char* at,
                          const std::string& words) {
  const auto first = run.number_of(i);
  const auto line = first + std::count(run.begin(i), at, '\n');
  const auto* start = at;
  while (start != run.begin(i) && start[-1] != '\n') --start;
  const auto where =
      line == first ? std::string() : text(" (the record starts in line ", first, ")");
  fail(Code::invalid_argument, run.file_of(i), ":", line, ":", at - start + 1, ": ", words, where);
}

}  // namespace

// ---- columns ---------------------------------------------------------------------------------

CsvDecoder::CsvDecoder(std::vector<CsvComponent> components, CsvDecoderOptions options)
    : components_(std::move(components)), options_(std::move(options)) {
  check(options_.syntax);
  add_columns();
  find_fields();
  begins_.resize(static_cast<std::size_t>(width_ + 1 + simd::kCsvSlack));
  ends_.resize(begins_.size());
  left_.resize(columns_.size());
}

void CsvDecoder::add_columns() {
  // A number that stands for a missing value must not be taken for one.
  const bool plain = options_.na_value.find_first_of("0123456789") == std::string::npos;
  for (const auto& component : components_) {
    for (const auto& column : component.columns) {
      check(column);
      if (!column.allow_non_finite) finite_.push_back(static_cast<std::uint32_t>(columns_.size()));
      columns_.push_back(column);
      targets_.push_back({.kind = plain ? kind_of(column) : simd::CsvKind::other});
    }
    row_bytes_ =
        std::max(row_bytes_, component.columns.size() * size_of(component.columns[0].dtype));
  }
  if (columns_.empty()) fail(Code::invalid_argument, "a CSV decoder needs at least one column");
}

std::uint32_t CsvDecoder::named(const std::string& name) const {
  const auto& header = options_.header;
  const auto at = std::ranges::find(header, name);
  if (at == header.end()) {
    std::string names;
    for (const auto& other : header) names += (names.empty() ? "" : ", ") + shown(other);
    fail(Code::invalid_argument, "no column is called ", shown(name), ", the header has ", names);
  }
  return static_cast<std::uint32_t>(at - header.begin());
}

/// Fields without a name may be several, as long as nobody asks for one of them.
void CsvDecoder::expect_different_names() const {
  std::unordered_map<std::string_view, std::size_t> seen;
  const auto& header = options_.header;
  const auto wanted = [this](const auto& name) {
    return std::ranges::find(columns_, name, &CsvColumn::name) != columns_.end();
  };
  for (std::size_t f = 0; f < header.size(); ++f) {
    const auto [first, is_new] = seen.emplace(header[f], f);
    if (is_new || (header[f].empty() && !wanted(header[f]))) continue;
    fail(Code::invalid_argument, "the header has ", shown(header[f]), " twice, as columns #",
         first->second, " and #", f,
         ": find columns by position (CsvDecoderOptions::select_cols), not by name");
  }
}

void CsvDecoder::find_fields() {
  const auto& selected = options_.select_cols;
  const bool by_name = !options_.header.empty();
  if (by_name && !selected.empty())
    fail(Code::invalid_argument, "columns are found by name (CsvDecoderOptions::header) or by ",
         "position (CsvDecoderOptions::select_cols), not by both");
  expect_different_names();
  if (!selected.empty() && selected.size() != columns_.size())
    fail(Code::invalid_argument, "select_cols has ", selected.size(), " positions for ",
         columns_.size(), " columns");
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const auto field = by_name            ? named(columns_[k].name)
                       : selected.empty() ? static_cast<std::int64_t>(k)
                                          : selected[k];
    if (field < 0 || field >= kMostFields)
      fail(Code::invalid_argument, "column '", columns_[k].name, "': a record has no field #",
           field, " (CsvDecoderOptions::select_cols)");
    fields_.push_back(static_cast<std::uint32_t>(field));
    targets_[k].field = fields_[k];
    width_ = std::max(width_, field + 1);
  }
  if (by_name) width_ = static_cast<std::int64_t>(options_.header.size());
  whole_ = selected.empty();
}

std::vector<QueueComponent> CsvDecoder::components() const {
  std::vector<QueueComponent> all;
  for (const auto& component : components_) {
    const auto columns = static_cast<std::int64_t>(component.columns.size());
    all.push_back({component.name,
                   {component.columns[0].dtype, component.stacked ? Shape{columns} : Shape{}}});
  }
  return all;
}

// ---- rows ------------------------------------------------------------------------------------

void CsvDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  decode_rows(run, i, {&element, 1}, [](std::size_t, const Error& error) { throw error; });
}

void CsvDecoder::decode_run(const RecordRun& run, std::span<Element> elements,
                            const Refuse& refuse) {
  const auto most = std::max<std::size_t>(1, kSharedBytes / row_bytes_);
  for (std::size_t first = 0; first < run.count(); first += most)
    decode_rows(run, first, elements.subspan(first, std::min(most, run.count() - first)), refuse);
}

void CsvDecoder::decode_rows(const RecordRun& run, std::size_t first, std::span<Element> elements,
                             const Refuse& refuse) {
  allocate(elements.size());
  for (std::size_t row = 0; row < elements.size(); ++row) {
    try {
      decode_record(run, first + row, row);
    } catch (const Error& error) {
      refuse(first + row, error);
    }
  }
  for (std::size_t row = 0; row < elements.size(); ++row)
    for (const auto& tensor : tensors_)
      elements[row].push_back(tensor.row(static_cast<std::int64_t>(row)));
  tensors_.clear();
}

void CsvDecoder::allocate(std::size_t rows) {
  tensors_.clear();
  std::size_t k = 0;
  for (const auto& component : components_) {
    const auto columns = component.columns.size();
    auto shape = Shape{static_cast<std::int64_t>(rows)};
    if (component.stacked) shape = {shape[0], static_cast<std::int64_t>(columns)};
    auto& tensor = tensors_.emplace_back(Tensor::uninitialized(component.columns[0].dtype, shape));
    const auto bytes = size_of(tensor.dtype());
    auto* out = reinterpret_cast<char*>(tensor.mutable_data());
    for (std::size_t c = 0; c < columns; ++c, ++k) {
      targets_[k].out = out + c * bytes;
      targets_[k].row_bytes = columns * bytes;
    }
  }
}

void CsvDecoder::decode_record(const RecordRun& run, std::size_t i, std::size_t row) {
  static const auto decode_numbers = TROUPE_PICK(decode_csv_numbers);
  split(run, i);
  const auto* record = run.begin(i);
  const auto left = decode_numbers(record, begins_.data(), ends_.data(), targets_.data(),
                                   static_cast<std::int64_t>(targets_.size()), row, left_.data());
  for (std::int64_t j = 0; j < left; ++j) {
    const auto k = left_[static_cast<std::size_t>(j)];
    const auto f = fields_[k];
    const auto text = field(run, i, f);
    const auto value = text.value(scratch_);
    if (!convert(columns_[k], value, targets_[k].out + row * targets_[k].row_bytes))
      fail_at(run, i, text.begin, label(f) + problem(columns_[k], value));
  }
  if (!finite_.empty()) check_finite(run, i, row);
}

CsvField CsvDecoder::field(const RecordRun& run, std::size_t i, std::uint32_t f) const {
  const bool escaped = !quoted_.empty() && quoted_[f].escaped;
  return {run.begin(i) + begins_[f], run.begin(i) + ends_[f], escaped};
}

void CsvDecoder::check_finite(const RecordRun& run, std::size_t i, std::size_t row) {
  for (const auto k : finite_) {
    const auto* out = targets_[k].out + row * targets_[k].row_bytes;
    double value = 0;
    if (columns_[k].dtype == DType::float32) {
      float narrow = 0;
      std::memcpy(&narrow, out, sizeof narrow);
      value = narrow;
    } else {
      std::memcpy(&value, out, sizeof value);
    }
    if (std::isfinite(value)) continue;
    const auto text = field(run, i, fields_[k]);
    const auto written = text.value(scratch_);
    if (is_missing(written)) continue;  // its default is as it was asked for
    fail_at(run, i, text.begin,
            label(fields_[k]) + ": " + shown(written) + " is not a finite " +
                std::string(to_string(columns_[k].dtype)));
  }
}

void CsvDecoder::split(const RecordRun& run, std::size_t i) {
  static const auto split_record = TROUPE_PICK(split_csv_record);
  const auto& syntax = options_.syntax;
  const auto found =
      split_record(run.begin(i), run.end(i), syntax.delimiter, syntax.quotes,
                   syntax.merge_delimiters, width_ + 1, begins_.data(), ends_.data());
  quoted_.clear();
  const auto last = static_cast<std::size_t>(width_);
  const bool one_more =
      found == width_ + 1 && syntax.trailing_delimiter && begins_[last] == ends_[last];
  if (found != width_ && !one_more && (whole_ || found < width_)) split_by_bytes(run, i);
}

void CsvDecoder::split_by_bytes(const RecordRun& run, std::size_t i) {
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  const auto record = text_of(run, i);
  const auto found =
      split_csv(record, options_.syntax, whole_ ? kAll : width_, width_ + 1, quoted_);
  if (found.fault != CsvFault::none)
    fail_at(run, i, found.at, label(found.fields) + ": " + std::string(explain(found.fault)));
  auto count = found.fields;
  if (options_.syntax.trailing_delimiter && count == width_ + 1 &&
      record.back() == options_.syntax.delimiter)
    --count;
  if (count < width_)
    fail_at(run, i, run.end(i),
            text("got ", count, " fields, expected ", width_, whole_ ? "" : " or more",
                 record.empty() ? ": a blank line (CsvOptions::skip_blank_lines)" : ""));
  if (count > width_)
    fail_at(run, i, quoted_.back().begin, text("got ", count, " fields, expected ", width_));
  for (std::size_t f = 0; f < quoted_.size(); ++f) {
    begins_[f] = static_cast<std::uint32_t>(quoted_[f].begin - record.data());
    ends_[f] = static_cast<std::uint32_t>(quoted_[f].end - record.data());
  }
}

// ---- fields ----------------------------------------------------------------------------------

bool CsvDecoder::convert(const CsvColumn& column, std::string_view text, char* out) const {
  if (is_missing(text)) {
    if (!column.fallback) return false;
    if (column.dtype == DType::string)
      *reinterpret_cast<std::string*>(out) = column.fallback->read<std::string>()[0];
    else
      std::memcpy(out, column.fallback->data(), size_of(column.dtype));
    return true;
  }
  if (column.categories) {
    const auto id = column.categories->find(text);
    if (id) std::memcpy(out, &*id, sizeof *id);
    return id.has_value();
  }
  switch (column.dtype) {
    case DType::float32:
      return store_number<float>(text, options_.numbers, out);
    case DType::float64:
      return store_number<double>(text, options_.numbers, out);
    case DType::int32:
      return store_number<std::int32_t>(text, options_.numbers, out);
    case DType::int64:
      return store_number<std::int64_t>(text, options_.numbers, out);
    case DType::boolean:
      return parse_bool(text, *reinterpret_cast<bool*>(out));
    default:
      reinterpret_cast<std::string*>(out)->assign(text);
      return true;
  }
}

std::string CsvDecoder::problem(const CsvColumn& column, std::string_view field) const {
  if (is_missing(field)) return " is required but missing";
  if (column.categories)
    return text(": ", shown(field), " is not in the vocabulary of ", column.categories->size(),
                " strings");
  return text(": ", shown(field), " is not a valid ", column.dtype,
              column.dtype == DType::boolean ? " (true, false, 1 or 0)" : "");
}

std::string CsvDecoder::label(std::int64_t field) const {
  const auto at = std::ranges::find(fields_, field);
  const auto& header = options_.header;
  std::string name;
  if (at != fields_.end())
    name = columns_[static_cast<std::size_t>(at - fields_.begin())].name;
  else if (static_cast<std::size_t>(field) < header.size())
    name = header[static_cast<std::size_t>(field)];
  return name.empty() ? text("field #", field) : text("field '", name, "' (#", field, ")");
}

}  // namespace troupe
