#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "troupe/ops/tensor.h"

namespace troupe {

/// What an attribute of a node may be. The order is part of the graph schema.
using Attribute =
    std::variant<bool, std::int64_t, double, std::string, DType, Shape, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, Tensor>;

/// "bool", "integer", "list of integers", ... of an Attribute's index().
std::string_view attribute_kind(std::size_t index);

/// The attributes of one node by name. Integers written as int are kept as
/// std::int64_t, string literals as std::string.
class Attributes {
 public:
  struct Entry {
    template <class T>
    Entry(std::string n, T v) : name(std::move(n)), value(convert(std::move(v))) {}
    std::string name;
    Attribute value;

   private:
    template <class T>
    static Attribute convert(T v) {
      if constexpr (std::is_same_v<T, const char*>)
        return std::string(v);
      else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        return static_cast<std::int64_t>(v);
      else if constexpr (std::is_same_v<T, float>)
        return static_cast<double>(v);
      else
        return Attribute(std::move(v));
    }
  };

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) {
    for (const auto& entry : entries) set(entry.name, entry.value);
  }

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void set(const std::string& name, Attribute value) { values_[name] = std::move(value); }

  /// Throws invalid_argument when there is no such attribute or it has another kind.
  template <class T>
  const T& get(std::string_view name) const {
    const auto& value = find(name);
    if (const auto* typed = std::get_if<T>(&value)) return *typed;
    wrong_kind(name, value.index(), Attribute(T{}).index());
  }
  /// The attribute, or `fallback` when there is none of that name.
  template <class T>
  T get_or(std::string_view name, T fallback) const {
    return has(name) ? get<T>(name) : fallback;
  }

  const std::map<std::string, Attribute, std::less<>>& all() const { return values_; }

 private:
  const Attribute& find(std::string_view name) const;
  [[noreturn]] static void wrong_kind(std::string_view name, std::size_t got, std::size_t wanted);

  std::map<std::string, Attribute, std::less<>> values_;
};

/// strides=[1, 5] padding="VALID" ...
std::ostream& operator<<(std::ostream& out, const Attributes& attributes);

}  // namespace troupe
