#include "troupe/actors/decoders/csv_columns.h"

#include "troupe/ops/error.h"

namespace troupe {

CsvCategories::CsvCategories(std::vector<std::string> vocabulary, UnknownCategory unknown)
    : unknown_(unknown) {
  if (unknown.rule == UnknownCategory::Rule::hash && unknown.value < 1)
    fail(Code::invalid_argument, "strings are hashed to 1 bucket or more, but ", unknown.value,
         " was given");
  for (auto& word : vocabulary) {
    const auto [at, is_new] = ids_.emplace(std::move(word), static_cast<std::int64_t>(ids_.size()));
    if (!is_new) fail(Code::invalid_argument, "the vocabulary has \"", at->first, "\" twice");
  }
}

std::optional<std::int64_t> CsvCategories::find(std::string_view text) const {
  if (const auto at = ids_.find(text); at != ids_.end()) return at->second;
  switch (unknown_.rule) {
    case UnknownCategory::Rule::fail:
      return std::nullopt;
    case UnknownCategory::Rule::id:
      return unknown_.value;
    case UnknownCategory::Rule::hash:
      return static_cast<std::int64_t>(ids_.size() +
                                       fnv1a(text) % static_cast<std::uint64_t>(unknown_.value));
  }
  return std::nullopt;
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

CsvColumn CsvColumn::or_id(std::int64_t id) const {
  if (!categories)
    fail(Code::invalid_argument, "column '", name,
         "' has no ids: use csv::with_default for its default");
  auto column = *this;
  column.fallback = Tensor::scalar(id);
  return column;
}

CsvComponent::CsvComponent(CsvColumn column) : name(column.name), columns{std::move(column)} {}

CsvComponent::CsvComponent(std::string name, std::vector<CsvColumn> columns)
    : name(std::move(name)), columns(std::move(columns)), stacked(true) {
  if (this->columns.empty())
    fail(Code::invalid_argument, "component '", this->name, "' is stacked of no column");
  const auto& first = this->columns[0];
  for (const auto& column : this->columns)
    if (column.dtype != first.dtype)
      fail(Code::invalid_argument, "component '", this->name,
           "' cannot be stacked of two dtypes: column '", first.name, "' is ", first.dtype,
           ", but '", column.name, "' is ", column.dtype);
}

namespace csv {

CsvColumn category(std::string name, std::vector<std::string> vocabulary, UnknownCategory unknown) {
  return {std::move(name),
          DType::int64,
          {},
          std::make_shared<CsvCategories>(std::move(vocabulary), unknown)};
}

CsvColumn hashed(std::string name, std::int64_t buckets) {
  return category(std::move(name), {}, hash_unknown(buckets));
}

}  // namespace csv

}  // namespace troupe
