#include "troupe/ops/attributes.h"

#include <array>
#include <ostream>
#include <type_traits>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Attribute>> kKinds{
    "bool",  "integer",          "number",          "string",          "dtype",
    "shape", "list of integers", "list of numbers", "list of strings", "tensor"};

template <class T>
void print(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    out << (value ? "true" : "false");
  else if constexpr (std::is_same_v<T, std::string>)
    out << '"' << value << '"';
  else
    out << value;
}

template <class T>
void print(std::ostream& out, const std::vector<T>& values) {
  out << '[';
  const char* separator = "";
  for (const auto& value : values) {
    out << separator;
    print(out, value);
    separator = ", ";
  }
  out << ']';
}

}  // namespace

std::string_view attribute_kind(std::size_t index) { return kKinds.at(index); }

const Attribute& Attributes::find(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) fail(Code::invalid_argument, "attribute '", name, "' is missing");
  return found->second;
}

void Attributes::wrong_kind(std::string_view name, std::size_t got, std::size_t wanted) {
  fail(Code::invalid_argument, "attribute '", name, "' is a ", kKinds[got], ", but a ",
       kKinds[wanted], " is needed");
}

std::ostream& operator<<(std::ostream& out, const Attributes& attributes) {
  const char* separator = "";
  for (const auto& [name, value] : attributes.all()) {
    out << separator << name << '=';
    std::visit([&](const auto& v) { print(out, v); }, value);
    separator = " ";
  }
  return out;
}

}  // namespace troupe
