#pragma once

#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/tensor.h"

namespace troupe::test {

/// One computation that NumPy or TensorFlow did: attributes, and tensors by name.
///
/// Op cases name them in0, in1, ... for the inputs, out0, ... for the outputs,
/// dout0, ... for the gradients that reach the outputs and din0, ... for those
/// that leave through the inputs; an input without gradient has no din.
struct ReferenceCase {
  std::string op;
  std::string name;   ///< what is special about it: "float32_3x5_5"
  std::string where;  ///< file:line, for messages
  std::map<std::string, std::string> attributes;
  std::map<std::string, Tensor> tensors;

  bool has(const std::string& tensor) const { return tensors.contains(tensor); }
  bool has_attribute(const std::string& key) const { return attributes.contains(key); }

  /// Throws not_found, naming the case, for a name that it does not have.
  const Tensor& tensor(const std::string& key) const { return find(tensors, key, "tensor"); }
  const std::string& attribute(const std::string& key) const {
    return find(attributes, key, "attribute");
  }

  /// The tensors prefix0, prefix1, ... as far as they go without a gap.
  TensorList list(const std::string& prefix) const {
    TensorList found;
    while (has(prefix + std::to_string(found.size())))
      found.push_back(tensor(prefix + std::to_string(found.size())));
    return found;
  }

  /// Attributes as values: 0.5, 3, true, and 1,-2,3. Throws invalid_argument.
  double number(const std::string& key) const { return parse<double>(key, attribute(key)); }
  std::int64_t integer(const std::string& key) const {
    return parse<std::int64_t>(key, attribute(key));
  }
  bool flag(const std::string& key) const {
    const auto& value = attribute(key);
    if (value != "true" && value != "false")
      fail(Code::invalid_argument, where, ": ", key, "=", value, " is neither true nor false");
    return value == "true";
  }
  std::vector<std::int64_t> integers(const std::string& key) const {
    return parse_list<std::int64_t>(key);
  }
  std::vector<double> numbers(const std::string& key) const { return parse_list<double>(key); }

 private:
  template <class Map>
  const typename Map::mapped_type& find(const Map& map, const std::string& key,
                                        std::string_view kind) const {
    const auto it = map.find(key);
    if (it == map.end())
      fail(Code::not_found, where, ": case ", op, " ", name, " has no ", kind, " ", key);
    return it->second;
  }

  template <class T>
  T parse(const std::string& key, std::string_view text) const {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      fail(Code::invalid_argument, where, ": ", key, "=", attribute(key), ": '", text,
           "' is not a number of that kind");
    return value;
  }

  template <class T>
  std::vector<T> parse_list(const std::string& key) const {
    std::vector<T> values;
    std::string_view rest = attribute(key);
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      values.push_back(parse<T>(key, rest.substr(0, comma)));
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    return values;
  }
};

/// So that a failing parameterised test says which case it was.
inline std::ostream& operator<<(std::ostream& out, const ReferenceCase& reference) {
  return out << reference.op << " " << reference.name << " (" << reference.where << ")";
}

/// Reads the format that tests/data/op_references/record.py describes, one line at a time.
class ReferenceReader {
 public:
  explicit ReferenceReader(const std::string& path) : path_(path), in_(path) {
    if (!in_) fail(Code::not_found, path, ": cannot be opened");
  }

  std::vector<ReferenceCase> read() {
    std::vector<ReferenceCase> cases;
    bool open = false;
    for (std::string line; std::getline(in_, line);) {
      ++line_;
      std::istringstream words(line);
      std::string kind;
      words >> kind;
      if (kind == "case" && !open) {
        cases.push_back(read_case(words));
        open = true;
      } else if (kind == "tensor" && open) {
        read_tensor(words, cases.back());
      } else if (kind == "end" && open) {
        open = false;
      } else {
        complain("'", kind, open ? "' where a tensor or end belongs" : "' where a case belongs");
      }
    }
    if (open) complain("the file ends inside case ", cases.back().op, " ", cases.back().name);
    return cases;
  }

 private:
  template <class... Parts>
  [[noreturn]] void complain(const Parts&... parts) const {
    fail(Code::data_loss, where(), ": ", parts...);
  }
  std::string where() const { return text(path_, ":", line_); }

  ReferenceCase read_case(std::istream& words) const {
    ReferenceCase result;
    result.where = where();
    if (!(words >> result.op >> result.name)) complain("a case needs an op and a name");
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) complain("'", word, "' is not key=value");
      result.attributes[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return result;
  }

  void read_tensor(std::istream& words, ReferenceCase& to) const {
    std::string name, dtype, extents, colon;
    if (!(words >> name >> dtype >> extents >> colon) || colon != ":")
      complain("expected: tensor <name> <dtype> <shape> : <values>");
    Tensor values = Tensor::uninitialized(parse_dtype(dtype), parse_shape(extents));
    switch (values.dtype()) {
      case DType::float32:
        fill<float>(words, name, values);
        break;
      case DType::float64:
        fill<double>(words, name, values);
        break;
      case DType::int8:
        fill<std::int8_t>(words, name, values);
        break;
      case DType::int16:
        fill<std::int16_t>(words, name, values);
        break;
      case DType::int32:
        fill<std::int32_t>(words, name, values);
        break;
      case DType::int64:
        fill<std::int64_t>(words, name, values);
        break;
      case DType::uint8:
        fill<std::uint8_t>(words, name, values);
        break;
      case DType::boolean:
        fill<bool>(words, name, values);
        break;
      default:
        complain("tensor ", name, " has dtype ", dtype, ", which this format does not hold");
    }
    if (!to.tensors.emplace(name, std::move(values)).second) complain("tensor ", name, " twice");
  }

  Shape parse_shape(const std::string& extents) const {
    std::vector<std::int64_t> found;
    if (extents == "scalar") return Shape(found);
    std::istringstream parts(extents);
    for (std::string part; std::getline(parts, part, 'x');)
      found.push_back(parse<std::int64_t>(part));
    return Shape(found);
  }

  template <class T>
  void fill(std::istream& words, const std::string& name, Tensor& values) const {
    std::int64_t count = 0;
    auto to = values.write<T>();
    for (std::string word; words >> word; ++count) {
      if (count < values.size()) to[static_cast<std::size_t>(count)] = parse<T>(word);
    }
    if (count != values.size())
      complain("tensor ", name, " of shape ", values.shape(), " has ", count, " values");
  }

  template <class T>
  T parse(const std::string& word) const {
    if constexpr (std::is_same_v<T, bool>) {
      if (word != "0" && word != "1") complain("'", word, "' is neither 0 nor 1");
      return word == "1";
    } else {
      T value{};
      const auto last = word.data() + word.size();
      const auto [end, error] = std::from_chars(word.data(), last, value);
      if (error != std::errc{} || end != last)
        complain("'", word, "' is not a value of that dtype");
      return value;
    }
  }

  std::string path_;
  std::ifstream in_;
  int line_ = 0;
};

/// The cases of a file. Throws not_found when it cannot be opened and
/// data_loss, naming file and line, when it does not follow the format.
inline std::vector<ReferenceCase> read_references(const std::string& path) {
  return ReferenceReader(path).read();
}

}  // namespace troupe::test
