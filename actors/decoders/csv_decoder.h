#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/actors/decoders/csv_columns.h"
#include "troupe/actors/decoders/csv_numbers.h"
#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/readers/csv_format.h"
#include "troupe/ops/simd/csv_kernels.h"

namespace troupe {

struct CsvDecoderOptions {
  CsvSyntax syntax{};                       ///< delimiter and quotes
  std::string na_value{};                   ///< a field that is this counts as empty
  std::vector<std::int64_t> select_cols{};  ///< positions of the columns' fields, from 0
  std::vector<std::string> header{};        ///< names of all fields: columns are found by name
  CsvNumbers numbers = CsvNumbers::tensorflow_1;
};

/// CSV records to tensors, with the results of TensorFlow's decode_csv.
///
/// Column i is field i of a record, and there must be as many. With select_cols it
/// is the field that stands there; fields behind the last of those are not looked
/// at. With a header it is the field of that name, and every record must have all
/// fields of the header, whose names must differ.
///
/// decode throws invalid_argument, with the line and the column of the field at
/// fault (which is not the first line of a record that has several):
///
///   houses.csv:1532:17: field 'price' (#4): "N/A" is not a valid float32
///   houses.csv:8:1: field 'id' (#0) is required but missing
///   houses.csv:9:12: got 3 fields, expected 4
///   houses.csv:10:5: field 'city' (#1): unquoted fields cannot have quotes or line ends inside
class CsvDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument for options that make no sense, naming the column.
  CsvDecoder(std::vector<CsvComponent> components, CsvDecoderOptions options = {});

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;
  void decode_run(const RecordRun& run, std::span<Element> elements, const Refuse& refuse) override;

 private:
  void find_fields();
  void add_columns();
  std::uint32_t named(const std::string& name) const;
  void expect_different_names() const;

  /// Decodes records first, first + 1, ... of the run to tensors that they share.
  void decode_rows(const RecordRun& run, std::size_t first, std::span<Element> elements,
                   const Refuse& refuse);
  void allocate(std::size_t rows);
  void decode_record(const RecordRun& run, std::size_t i, std::size_t row);
  void check_finite(const RecordRun& run, std::size_t i, std::size_t row);
  /// The text of a field of the record that has been split.
  CsvField field(const RecordRun& run, std::size_t i, std::uint32_t f) const;
  void split(const RecordRun& run, std::size_t i);
  void split_by_bytes(const RecordRun& run, std::size_t i);

  bool is_missing(std::string_view text) const { return text.empty() || text == options_.na_value; }
  /// False when the text is not what the column holds.
  bool convert(const CsvColumn& column, std::string_view text, char* out) const;
  std::string problem(const CsvColumn& column, std::string_view text) const;
  std::string label(std::int64_t field) const;

  std::vector<CsvComponent> components_;
  CsvDecoderOptions options_;
  std::vector<CsvColumn> columns_;     // of all components, one after the other
  std::vector<std::uint32_t> fields_;  // of each column
  std::int64_t width_ = 0;             // fields of a record that are looked at
  bool whole_ = true;                  // a record has no more of them
  std::size_t row_bytes_ = 1;          // of the largest component
  std::vector<std::uint32_t> finite_;  // columns that must be

  // Of the records that are being decoded.
  std::vector<Tensor> tensors_;           // one for each component
  std::vector<simd::CsvTarget> targets_;  // one for each column
  std::vector<std::uint32_t> begins_;     // of each field, in its record
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint32_t> left_;  // columns that are not simple numbers
  std::vector<CsvField> quoted_;     // the fields of a record with quotes, otherwise empty
  std::string scratch_;
};

}  // namespace troupe
