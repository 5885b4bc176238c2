#include "troupe/ops/device_spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ostream>
#include <vector>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

bool is_name(std::string_view name) {
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

std::string upper(std::string_view name) {
  std::string out(name);
  for (auto& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  DeviceSpec parse() {
    for (const auto part : split(text_, '/'))
      if (!part.empty()) add(split(part, ':'));
    return std::move(spec_);
  }

 private:
  void add(const std::vector<std::string_view>& words) {
    const auto kind = upper(words[0]);
    if (words.size() == 2 && words[0] == "job") {
      spec_.job = name("job", words[1]);
    } else if (words.size() == 2 && words[0] == "replica") {
      spec_.replica = number("replica", words[1]);
    } else if (words.size() == 2 && words[0] == "task") {
      spec_.task = number("task", words[1]);
    } else if (words.size() <= 2 && (kind == "CPU" || kind == "GPU")) {
      set_type(kind, words.size() == 2 ? words[1] : "*");
    } else if (words.size() == 3 && words[0] == "device") {
      const auto type = upper(words[1]);
      set_type(type == "CPU" || type == "GPU" ? type : std::string(words[1]), words[2]);
    } else {
      fail(Code::invalid_argument, "Unknown attribute: '", words[0], "' in '", text_,
           "'; a device is called /job:<name>/replica:<n>/task:<n>/device:<TYPE>:<n>, of which "
           "parts may be left out");
    }
  }

  void set_type(std::string_view type, std::string_view index) {
    if (spec_.type) fail(Code::invalid_argument, "Cannot specify multiple device types: ", text_);
    spec_.type = name("device type", type);
    spec_.index = number("device number", index);
  }

  std::optional<std::string> name(std::string_view part, std::string_view word) const {
    if (word == "*") return std::nullopt;
    if (!is_name(word))
      fail(Code::invalid_argument, "the ", part, " in '", text_,
           "' must be letters, digits and _, a letter first, or *, but is '", word, "'");
    return std::string(word);
  }

  std::optional<int> number(std::string_view part, std::string_view word) const {
    if (word == "*") return std::nullopt;
    int value = -1;
    const auto* end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || at != end || value < 0)
      fail(Code::invalid_argument, "the ", part, " in '", text_,
           "' must be a number from 0, or *, but is '", word, "'");
    return value;
  }

  std::string_view text_;
  DeviceSpec spec_;
};

template <class T>
void expect_equal(const std::optional<T>& a, const std::optional<T>& b, std::string_view parts,
                  const DeviceSpec& left, const DeviceSpec& right) {
  if (a && b && *a != *b)
    fail(Code::invalid_argument, "Cannot merge devices with incompatible ", parts, ": '", left,
         "' and '", right, "'");
}

template <class T>
void set(std::optional<T>& part, const std::optional<T>& value) {
  if (value) part = value;
}

template <class T>
bool fits(const std::optional<T>& wanted, const std::optional<T>& got) {
  return !wanted || wanted == got;
}

}  // namespace

DeviceSpec DeviceSpec::parse(std::string_view text) { return Parser(text).parse(); }

std::string to_string(const DeviceSpec& spec) {
  std::string name;
  if (spec.job) name += text("/job:", *spec.job);
  if (spec.replica) name += text("/replica:", *spec.replica);
  if (spec.task) name += text("/task:", *spec.task);
  if (spec.type || spec.index)
    name += text("/device:", spec.type.value_or("*"), ':',
                 spec.index ? std::to_string(*spec.index) : "*");
  return name;
}

std::ostream& operator<<(std::ostream& out, const DeviceSpec& spec) {
  return out << to_string(spec);
}

DeviceSpec merged(const DeviceSpec& outer, const DeviceSpec& inner) {
  auto both = outer;
  set(both.job, inner.job);
  set(both.replica, inner.replica);
  set(both.task, inner.task);
  set(both.type, inner.type);
  set(both.index, inner.index);
  return both;
}

DeviceSpec merged_for_both(const DeviceSpec& a, const DeviceSpec& b, bool soft) {
  expect_equal(a.job, b.job, "jobs", a, b);
  expect_equal(a.replica, b.replica, "replicas", a, b);
  expect_equal(a.task, b.task, "tasks", a, b);
  if (!soft) {
    expect_equal(a.type, b.type, "types", a, b);
    expect_equal(a.index, b.index, "ids", a, b);
  }
  auto both = merged(a, b);
  if (a.type && b.type && *a.type != *b.type) {
    both.type = std::nullopt;
    both.index = std::nullopt;
  }
  if (a.index && b.index && *a.index != *b.index) both.index = std::nullopt;
  return both;
}

bool matches(const DeviceSpec& wanted, const DeviceSpec& device) {
  return fits(wanted.job, device.job) && fits(wanted.replica, device.replica) &&
         fits(wanted.task, device.task) && fits(wanted.type, device.type) &&
         fits(wanted.index, device.index);
}

}  // namespace troupe
