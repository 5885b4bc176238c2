#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/ops/tensor.h"

namespace troupe {

/// What happens to a string that is not in a vocabulary.
struct UnknownCategory {
  enum class Rule : std::uint8_t { fail, id, hash };
  Rule rule = Rule::fail;
  std::int64_t value = 0;  ///< the id, or the number of buckets
};

/// The int64 ids that strings stand for: their positions in a vocabulary, and
/// those of hash buckets behind them.
class CsvCategories {
 public:
  /// Throws invalid_argument for a string that is twice in the vocabulary, and for
  /// less than one bucket.
  CsvCategories(std::vector<std::string> vocabulary, UnknownCategory unknown);

  std::optional<std::int64_t> find(std::string_view text) const;
  std::size_t size() const { return ids_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
  UnknownCategory unknown_;
};

/// FNV-1a with 64 bits: the hash of hash buckets. Bucket = hash mod buckets.
std::uint64_t fnv1a(std::string_view text);

/// What one field of a record becomes.
struct CsvColumn {
  std::string name;                  ///< in messages, and in the header if fields are found by name
  DType dtype = DType::float32;      ///< float32, float64, int32, int64, string or boolean
  std::optional<Tensor> fallback{};  ///< of a field that is empty; required if there is none
  std::shared_ptr<const CsvCategories> categories{};  ///< the field is a string with an id
  bool allow_non_finite = true;  ///< floats may be inf and nan, and too large for their dtype

  /// The same with this id for a field that is empty.
  CsvColumn or_id(std::int64_t id) const;
};

/// One tensor of an element: a column as a scalar, or several of one dtype as a
/// vector, which is faster where there are many.
struct CsvComponent {
  CsvComponent(CsvColumn column);  // NOLINT: a list of columns is a list of components
  CsvComponent(std::string name, std::vector<CsvColumn> columns);

  std::string name;
  std::vector<CsvColumn> columns;
  bool stacked = false;
};

/// Columns in a few words:
///
///   {csv::stack("features", {csv::required<float>("x1"), csv::with_default("x2", -1.0f)}),
///    csv::category("city", {"Rome", "Paris"}, csv::hash_unknown(10)),
///    csv::required<std::int64_t>("label")}
///
/// Types are float, double, std::int32_t, std::int64_t, std::string and bool.
namespace csv {

/// An empty field is an error.
template <class T>
CsvColumn required(std::string name) {
  return {std::move(name), dtype_of<T>()};
}

/// An empty field has this value.
template <class T>
CsvColumn with_default(std::string name, T value) {
  return {std::move(name), dtype_of<T>(), Tensor::scalar<T>(std::move(value))};
}
inline CsvColumn with_default(std::string name, const char* value) {
  return with_default<std::string>(std::move(name), value);
}

/// A column of floats in which inf and nan are errors, and numbers that are too large:
///
///   csv::finite(csv::required<float>("price"))
inline CsvColumn finite(CsvColumn column) {
  column.allow_non_finite = false;
  return column;
}

/// The position of the field in the vocabulary, as int64.
CsvColumn category(std::string name, std::vector<std::string> vocabulary,
                   UnknownCategory unknown = {});
/// fnv1a(field) mod buckets, as int64.
CsvColumn hashed(std::string name, std::int64_t buckets);

inline UnknownCategory unknown_id(std::int64_t id) { return {UnknownCategory::Rule::id, id}; }
/// Ids from the size of the vocabulary on.
inline UnknownCategory hash_unknown(std::int64_t buckets) {
  return {UnknownCategory::Rule::hash, buckets};
}

/// One vector of the columns' values, which all need the same dtype.
inline CsvComponent stack(std::string name, std::vector<CsvColumn> columns) {
  return {std::move(name), std::move(columns)};
}
/// The same for columns that are alike: stack_of<float>("pixels", 784).
template <class T>
CsvComponent stack_of(const std::string& name, int count) {
  std::vector<CsvColumn> columns;
  for (int i = 0; i < count; ++i) columns.push_back(required<T>(name + std::to_string(i)));
  return {name, std::move(columns)};
}

}  // namespace csv

}  // namespace troupe
