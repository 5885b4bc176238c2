#include "troupe/ops/simd/csv_kernels.h"

#include "troupe/ops/simd/decimal.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

constexpr char kQuote = '"';

std::uint64_t lowest_bits(std::int64_t count) {
  return count >= kBlock ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Bit i is the parity of the bits 0 to i: quotes open and close.
std::uint64_t parity(std::uint64_t bits) {
  for (int shift = 1; shift < kBlock; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Bits up to the n-th that is set; all if there are fewer.
std::uint64_t first_bits(std::uint64_t mask, std::int64_t n) {
  while (--n > 0 && mask != 0) mask &= mask - 1;
  return mask == 0 ? ~std::uint64_t{0} : mask ^ (mask - 1);
}

// Appends the places of the bits. Eight are written at a time, so that the loop
// hardly depends on their number; the next ones overwrite those too many.
std::uint32_t* append(std::uint64_t mask, std::uint32_t block, std::uint32_t* to) {
  const int bits = __builtin_popcountll(mask);
  for (int done = 0; done < bits; done += 8) {
    for (int i = 0; i < 8; ++i) {
      to[done + i] = block + static_cast<std::uint32_t>(lowest_bit(mask));
      mask &= mask - 1;
    }
  }
  return to + bits;
}

template <class T>
void store(const CsvTarget& target, std::size_t row, T value) {
  __builtin_memcpy(target.out + row * target.row_bytes, &value, sizeof value);
}

bool decode_number(const char* begin, const char* end, const CsvTarget& target, std::size_t row) {
  Decimal d;
  if (!read_decimal(begin, end, d)) return false;
  const auto integer = d.negative ? -d.integer : d.integer;
  switch (target.kind) {
    case CsvKind::float32: {
      float value;
      if (!round_to_float(magnitude(d), d.negative, &value)) return false;
      store(target, row, value);
      return true;
    }
    case CsvKind::float64:
      store(target, row, with_sign(magnitude(d), d.negative));
      return true;
    case CsvKind::int32: {
      const auto value = static_cast<std::int32_t>(integer);
      if (d.power != 0 || value != integer) return false;
      store(target, row, value);
      return true;
    }
    case CsvKind::int64:
      if (d.power != 0) return false;
      store(target, row, integer);
      return true;
    case CsvKind::other:
      return false;
  }
  return false;
}

}  // namespace

CsvRecords find_csv_records(const char* begin, const char* end, char delimiter, bool quotes,
                            std::int64_t most, std::int64_t most_bytes, std::uint32_t* ends) {
  CsvRecords found;
  std::int64_t lines = 0;    // in the blocks before this one
  std::uint64_t inside = 0;  // all ones behind a quote that is open
  for (const char* block = begin; block < end; block += kBlock) {
    const auto valid = lowest_bits(end - block);
    const auto newlines = equal_mask(block, '\n') & valid;
    auto records = newlines;
    const auto quote = quotes ? equal_mask(block, kQuote) & valid : 0;
    if ((quote | inside) != 0) {
      const auto quoted = parity(quote) ^ inside;  // from a quote that opens to the one that closes
      const bool first =
          block == begin || block[-1] == delimiter || block[-1] == '\n' || block[-1] == kQuote;
      const auto between = ((equal_mask(block, delimiter) & valid) | newlines) & ~quoted;
      // A quote opens at the start of a field, or goes on behind one that has just closed.
      const auto may_open = (between | quote) << 1 | static_cast<std::uint64_t>(first);
      records = newlines & ~quoted;
      if (const auto wrong = quote & quoted & ~may_open; wrong != 0) {
        found.irregular = true;
        records &= (wrong & -wrong) - 1;
      }
      inside = -(quoted >> 63);
    }
    if (records != 0) {
      const auto offset = block - begin;
      // Those that end in front of the limit, and one more.
      const auto before = offset >= most_bytes ? 0 : lowest_bits(most_bytes - offset);
      const auto rest = records & ~before;
      auto taken = (records & before) | (rest & -rest);
      const auto room = most - found.count;
      const bool full = rest != 0 || __builtin_popcountll(taken) >= room;
      if (full) taken &= first_bits(taken, room);
      append(taken, static_cast<std::uint32_t>(offset), ends + found.count);
      found.count += __builtin_popcountll(taken);
      const int last = 63 - __builtin_clzll(taken);
      found.lines = lines + __builtin_popcountll(newlines & lowest_bits(last + 1));
      if (full) {
        found.irregular = false;
        return found;
      }
    }
    if (found.irregular) return found;
    lines += __builtin_popcountll(newlines);
  }
  return found;
}

std::int64_t split_csv_record(const char* begin, const char* end, char delimiter, bool quotes,
                              bool merge, std::int64_t most, std::uint32_t* begins,
                              std::uint32_t* ends) {
  if (begin == end) return 0;
  const auto* const first_end = ends;
  auto* const first_begin = begins;
  std::uint64_t behind = 1;  // whether a delimiter, or nothing, is in front of the block
  for (const char* block = begin; block < end; block += kBlock) {
    const auto valid = lowest_bits(end - block);
    auto special = equal_mask(block, '\n') | equal_mask(block, '\r');
    if (quotes) special |= equal_mask(block, kQuote);
    if ((special & valid) != 0) return -1;
    const auto offset = static_cast<std::uint32_t>(block - begin);
    const auto delimiters = equal_mask(block, delimiter) & valid;
    if (merge) {
      const auto following = delimiters << 1 | behind;
      behind = delimiters >> 63;
      begins = append(~delimiters & following & valid, offset, begins);
      ends = append(delimiters & ~following, offset, ends);
    } else {
      ends = append(delimiters, offset, ends);
    }
    if (ends - first_end > most) break;
  }
  if (!merge || end[-1] != delimiter) *ends++ = static_cast<std::uint32_t>(end - begin);
  const auto count = ends - first_end;
  if (!merge) {
    first_begin[0] = 0;
    for (std::int64_t i = 1; i < count; ++i) first_begin[i] = first_end[i - 1] + 1;
  }
  return count;
}

std::int64_t decode_csv_numbers(const char* record, const std::uint32_t* begins,
                                const std::uint32_t* ends, const CsvTarget* targets,
                                std::int64_t count, std::size_t row, std::uint32_t* left) {
  std::int64_t rest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& target = targets[i];
    if (target.kind == CsvKind::other ||
        !decode_number(record + begins[target.field], record + ends[target.field], target, row))
      left[rest++] = static_cast<std::uint32_t>(i);
  }
  return rest;
}

}  // namespace troupe::simd::TROUPE_ISA
