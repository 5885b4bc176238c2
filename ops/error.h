#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe {

/// What kind of thing went wrong. The names and numbers are TensorFlow's and gRPC's.
enum class Code : std::uint8_t {
  ok = 0,
  cancelled = 1,            ///< somebody asked for it to stop
  unknown = 2,              ///< an exception that is not ours
  invalid_argument = 3,     ///< the request itself is wrong
  deadline_exceeded = 4,    ///< not done within the time that the caller gave
  not_found = 5,            ///< no such file, variable, op, checkpoint
  already_exists = 6,       ///< the name is taken
  permission_denied = 7,    ///< the file or port may not be used
  resource_exhausted = 8,   ///< out of memory, or above a declared bound
  failed_precondition = 9,  ///< right request, wrong state: a finished graph, a closed checkpoint
  aborted = 10,             ///< lost a race, try again: a stale gradient
  out_of_range = 11,        ///< the end of the data
  unimplemented = 12,       ///< no kernel for this dtype or device
  internal = 13,            ///< a broken invariant of ours
  unavailable = 14,         ///< the other side is not there
  data_loss = 15,           ///< bytes that do not hold what their format promises
};

/// "invalid argument", "out of range", ...
std::string_view to_string(Code code);

/// Everything that Troupe throws. what() is the message alone; it names the
/// thing that complains, what it got and what it wanted.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}

  Code code() const { return code_; }

  /// The same error with `context` in front: "while restoring run/ckpt-7: ...".
  Error within(std::string_view context) const;

 private:
  Code code_;
};

/// Joins its arguments into one string: text("got ", shape, " for ", name).
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

/// Throws Error with a message joined from the parts.
template <class... Parts>
[[noreturn]] void fail(Code code, const Parts&... parts) {
  throw Error(code, text(parts...));
}

}  // namespace troupe
