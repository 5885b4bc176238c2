#include <charconv>

#include <fmt/format.h>

#include "commands.h"

namespace troupe::cli {

std::function<std::string(const std::string&)> at_least(std::int64_t least) {
  return [least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const auto* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end)
      return fmt::format("must be a whole number, but is '{}'", text);
    if (value < least) return fmt::format("must be at least {}, but is {}", least, value);
    return {};
  };
}

}  // namespace troupe::cli
