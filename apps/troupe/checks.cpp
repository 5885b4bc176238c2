#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>

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

std::string is_seed(const std::string& text) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end) return {};
  return fmt::format("must be a whole number from 0 to {}, but is '{}'",
                     std::numeric_limits<std::uint64_t>::max(), text);
}

std::function<std::string(const std::string&)> between(double least, double most) {
  return [least, most](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') return fmt::format("must be a number, but is '{}'", text);
    // Written so that nan is refused.
    if (!(value >= least && value <= most))
      return fmt::format("must be from {} to {}, but is {}", least, most, text);
    return {};
  };
}

std::string small_file(const std::string& path) {
  constexpr std::uintmax_t kMostBytes = 1 << 20;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return fmt::format("there is no file {}", path);
  if (!std::filesystem::is_regular_file(status)) return fmt::format("{} is no regular file", path);
  if (std::filesystem::file_size(path, error) > kMostBytes)
    return fmt::format("{} has more than {} bytes", path, kMostBytes);
  return {};
}

}  // namespace troupe::cli
