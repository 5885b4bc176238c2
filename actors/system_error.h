#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// Throws for the current errno: "cannot write run/x: No space left on device" for
/// what = "write". The code is not_found, permission_denied, resource_exhausted
/// (also for a full disk), or else unavailable.
[[noreturn]] void system_error(std::string_view what, const std::string& path);

}  // namespace troupe
