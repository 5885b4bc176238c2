#include "troupe/actors/pipeline/option_map.h"

#include <charconv>
#include <cmath>

namespace troupe {

OptionMap::OptionMap(std::initializer_list<std::pair<std::string, std::string>> options) {
  for (const auto& [name, value] : options) add(name, value);
}

void OptionMap::add(const std::string& name, std::string value, std::string place) {
  auto& option = options_[name];
  if (option.values.empty()) option.place = std::move(place);
  option.values.push_back(std::move(value));
}

void OptionMap::refuse_with(const std::string& name, const std::string& why) const {
  const auto found = options_.find(name);
  const auto place = found == options_.end() || found->second.place.empty()
                         ? std::string()
                         : found->second.place + ": ";
  fail(Code::invalid_argument, place, "option '", name, "' of ", owner_, ' ', why);
}

const OptionMap::Option* OptionMap::find(const std::string& name) const {
  asked_.insert(name);
  const auto found = options_.find(name);
  return found == options_.end() ? nullptr : &found->second;
}

std::optional<std::string> OptionMap::value(const std::string& name) const {
  const auto* option = find(name);
  if (option == nullptr) return std::nullopt;
  if (option->values.size() > 1)
    refuse(name, "is given ", option->values.size(), " times; it has one value");
  return option->values[0];
}

std::string OptionMap::required(const std::string& name) const {
  if (auto given = value(name)) return *std::move(given);
  fail(Code::invalid_argument, owner_, " needs the option '", name, "'");
}

bool OptionMap::has(const std::string& name) const { return find(name) != nullptr; }

std::string OptionMap::text(const std::string& name) const { return required(name); }

std::string OptionMap::text(const std::string& name, std::string fallback) const {
  return value(name).value_or(std::move(fallback));
}

std::vector<std::string> OptionMap::list(const std::string& name) const {
  const auto* option = find(name);
  return option == nullptr ? std::vector<std::string>() : option->values;
}

std::vector<std::string> OptionMap::files(const std::string& name) const {
  auto paths = list(name);
  if (paths.empty()) fail(Code::invalid_argument, owner_, " needs the option '", name, "'");
  for (auto& path : paths) {
    if (path.empty()) refuse(name, "is the name of no file");
    if (!options_.at(name).implied) path = this->path(path);
  }
  return paths;
}

std::string OptionMap::path(const std::string& value) const {
  return directory_.empty() || value[0] == '/' || value == "-" ? value : directory_ + "/" + value;
}

OptionMap OptionMap::of_file(const std::string& path) const {
  auto one = *this;
  one.options_["files"] = {{path}, {}, true};
  one.options_["allow_empty"] = {{"true"}, {}, true};
  return one;
}

std::int64_t OptionMap::parse_integer(const std::string& name, const std::string& value,
                                      std::int64_t least, std::int64_t most) const {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size())
    refuse(name, "is \"", value, "\", which is not a whole number");
  if (number < least || number > most)
    refuse(name, "is ", number, "; it goes from ", least, " to ", most);
  return number;
}

std::int64_t OptionMap::integer(const std::string& name, std::int64_t least,
                                std::int64_t most) const {
  return parse_integer(name, required(name), least, most);
}

std::int64_t OptionMap::integer(const std::string& name, std::int64_t fallback, std::int64_t least,
                                std::int64_t most) const {
  const auto given = value(name);
  return given ? parse_integer(name, *given, least, most) : fallback;
}

std::vector<std::int64_t> OptionMap::integers(const std::string& name, std::int64_t least,
                                              std::int64_t most) const {
  std::vector<std::int64_t> numbers;
  for (const auto& value : list(name)) numbers.push_back(parse_integer(name, value, least, most));
  return numbers;
}

double OptionMap::number(const std::string& name, double fallback) const {
  const auto given = value(name);
  if (!given) return fallback;
  double number = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), number);
  if (error != std::errc() || end != given->data() + given->size() || !std::isfinite(number))
    refuse(name, "is \"", *given, "\", which is not a number");
  return number;
}

bool OptionMap::flag(const std::string& name, bool fallback) const {
  const auto given = value(name);
  if (!given) return fallback;
  if (*given != "true" && *given != "false")
    refuse(name, "is \"", *given, "\", which is neither true nor false");
  return *given == "true";
}

char OptionMap::character(const std::string& name, char fallback) const {
  const auto given = value(name);
  if (!given) return fallback;
  if (*given == "space") return ' ';
  if (*given == "tab") return '\t';
  if (*given == "comma") return ',';
  if (given->size() != 1)
    refuse(name, "is \"", *given, "\"; it is one character, or space, tab or comma");
  return (*given)[0];
}

Shape OptionMap::parse_shape(const std::string& name, const std::string& value,
                             bool may_vary) const {
  constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
  std::vector<std::int64_t> extents;
  for (std::size_t at = 0; at < value.size();) {
    const auto comma = std::min(value.find(',', at), value.size());
    auto begin = at;
    while (begin < comma && value[begin] == ' ') ++begin;
    const auto extent = value.substr(begin, comma - begin);
    extents.push_back(may_vary && extents.empty() && extent == "-1"
                          ? Shape::kUnknown
                          : parse_integer(name, extent, 1, kMostExtent));
    if (comma + 1 == value.size()) refuse(name, "is \"", value, "\", which ends with a comma");
    at = comma + 1;
  }
  if (extents.size() > Shape::kMaxRank)
    refuse(name, "has ", extents.size(), " axes; at most ", Shape::kMaxRank, " are possible");
  const Shape shape(extents);
  try {
    if (shape.known()) (void)shape.volume();
  } catch (const Error& error) {
    refuse(name, "is too large: ", error.what());
  }
  return shape;
}

Shape OptionMap::shape(const std::string& name) const { return parse_shape(name, required(name)); }

Shape OptionMap::shape(const std::string& name, const Shape& fallback) const {
  const auto given = value(name);
  return given ? parse_shape(name, *given) : fallback;
}

Shape OptionMap::varying_shape(const std::string& name, const Shape& fallback) const {
  const auto given = value(name);
  return given ? parse_shape(name, *given, true) : fallback;
}

DType OptionMap::dtype(const std::string& name, DType fallback) const {
  const auto given = value(name);
  if (!given) return fallback;
  try {
    return parse_dtype(*given);
  } catch (const Error& error) {
    refuse(name, "is no dtype: ", error.what());
  }
}

void OptionMap::expect_all_known() const {
  for (const auto& [name, option] : options_) {
    if (asked_.contains(name) || option.implied) continue;
    std::string known;
    for (const auto& other : asked_) known += (known.empty() ? "" : ", ") + other;
    fail(Code::invalid_argument, option.place, option.place.empty() ? "" : ": ", owner_,
         " has no option '", name, "'",
         known.empty() ? "; it has none" : troupe::text("; there are: ", known));
  }
}

}  // namespace troupe
