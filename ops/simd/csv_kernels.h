#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/simd/isa.h"

// What is vectorised of reading CSV; plain types only. All functions read up to 64
// bytes in front of their text and behind it, whatever they hold.

namespace troupe::simd {

/// The records that were found in a text.
struct CsvRecords {
  std::int64_t count = 0;
  std::int64_t lines = 0;  ///< newlines up to the end of the last of them
  /// The search stopped because a quote behind the last of them is not at the start of a field.
  /// What it means depends on all that is in front of it in its record.
  bool irregular = false;
};

/// What a field of a record becomes.
enum class CsvKind : std::uint8_t { float32, float64, int32, int64, other };

/// Where the values of one column go.
struct CsvTarget {
  CsvKind kind = CsvKind::other;
  std::uint32_t field = 0;    ///< which field of a record, from 0
  char* out = nullptr;        ///< the value of the first row
  std::size_t row_bytes = 0;  ///< from there to that of the next
};

/// split_csv_record writes so many entries more than it was asked for, at most.
inline constexpr std::int64_t kCsvSlack = 72;

TROUPE_EACH_ISA(
    /// Writes where records end: the offsets of newlines that are not inside of
    /// quotes. Stops behind `most` records, behind the first that ends at offset
    /// `most_bytes` or later, and at the end of the text.
    CsvRecords find_csv_records(const char* begin, const char* end, char delimiter, bool quotes,
                                std::int64_t most, std::int64_t most_bytes, std::uint32_t* ends);

    /// Writes where the fields of a record begin and end, and returns their number;
    /// more than `most` means at least so many. -1 when there is a quote (if `quotes`)
    /// or the end of a line anywhere. `merge`: several delimiters in a row count as
    /// one, those at the start and the end as none.
    std::int64_t split_csv_record(const char* begin, const char* end, char delimiter, bool quotes,
                                  bool merge, std::int64_t most, std::uint32_t* begins,
                                  std::uint32_t* ends);

    /// Decodes the fields of one record that are numbers of a simple form, such as
    /// -12.34 or 7, to row `row` of their targets. Writes which targets are left to
    /// do, in their order, and returns how many.
    std::int64_t decode_csv_numbers(const char* record, const std::uint32_t* begins,
                                    const std::uint32_t* ends, const CsvTarget* targets,
                                    std::int64_t count, std::size_t row, std::uint32_t* left);)

}  // namespace troupe::simd
