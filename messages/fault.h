#pragma once

#include <caf/error.hpp>
#include <caf/message.hpp>
#include <string>

#include "troupe/ops/error.h"

// Code travels inside caf::error; the message's one element is the text.
CAF_ERROR_CODE_ENUM(troupe::Code, "troupe")

namespace troupe {

/// The error that an actor answers with.
caf::error fault(Code code, std::string message);
caf::error fault(const Error& error);

/// fault(Code::aborted, "shard ", name, ": ...") with the parts joined.
template <class First, class Second, class... Parts>
caf::error fault(Code code, const First& first, const Second& second, const Parts&... parts) {
  return fault(code, text(first, second, parts...));
}

/// What a caf::error says as an Error: its own code and text if it is one of
/// ours; CAF's own errors become the nearest code (a lost actor is unavailable,
/// a timeout deadline_exceeded) with CAF's words.
Error to_error(const caf::error& error);

/// to_error(error).code().
Code code_of(const caf::error& error);

/// "out of range: queue 'examples' is closed ...".
std::string render(const caf::error& error);

}  // namespace troupe
