#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The name of a device, or as much of it as somebody asks for, spelled as TensorFlow
/// spells it: "/job:worker/replica:0/task:1/device:GPU:0". Parts stand in any order, and
/// each may be left out or be "*", which both mean any. "/cpu:0" and "/gpu:0", in any
/// case, are short for "/device:CPU:0" and "/device:GPU:0".
struct DeviceSpec {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  ///< "CPU"
  std::optional<int> index;         ///< of the type, on its task

  /// Throws invalid_argument: "Unknown attribute: ...", "Cannot specify multiple device
  /// types: ...", or which part is no name or number.
  static DeviceSpec parse(std::string_view text);

  /// Whether no part is set.
  bool empty() const { return *this == DeviceSpec(); }

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// As parse() reads it; a type without an index is "/device:CPU:*".
std::string to_string(const DeviceSpec& spec);
std::ostream& operator<<(std::ostream& out, const DeviceSpec& spec);

/// What `inner` sets, and the rest from `outer`: the rule of nested scopes.
DeviceSpec merged(const DeviceSpec& outer, const DeviceSpec& inner);

/// What suits two nodes that must share a device. Throws invalid_argument, "Cannot merge
/// devices with incompatible jobs: 'A' and 'B'", where both set a part differently. With
/// `soft`, types and indices that differ are left open instead.
DeviceSpec merged_for_both(const DeviceSpec& a, const DeviceSpec& b, bool soft = false);

/// Whether `device` has every part that `wanted` sets.
bool matches(const DeviceSpec& wanted, const DeviceSpec& device);

}  // namespace troupe
