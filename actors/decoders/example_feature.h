#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// A tf.train.Feature, as it stands in a record: what kind of list, and its bytes.
struct WireFeature {
  enum class Kind : std::uint8_t { none = 0, bytes = 1, floats = 2, ints = 3 };

  Kind kind = Kind::none;
  std::string_view list;
};

/// "a list of floats", for messages.
std::string_view to_string(WireFeature::Kind kind);

// All of these are for any bytes; false or -1 says that they are damaged.

/// `joined` keeps the list when its parts do not stand together; it must outlive the feature.
bool parse_feature(std::string_view message, WireFeature& feature, std::string& joined);

/// How many values a feature has.
std::int64_t count_values(const WireFeature& feature);

// These want as many values as there are, and say false for any other number, too.
bool read_floats(std::string_view list, std::span<float> values);
bool read_ints(std::string_view list, std::span<std::int64_t> values);
bool read_strings(std::string_view list, std::span<std::string> values);

}  // namespace troupe
