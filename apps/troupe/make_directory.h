#pragma once

#include <string>

namespace troupe::cli {

/// Makes a directory and those above it, unless they are there. Throws what the
/// system says, in its words and with its code.
void make_directory(const std::string& path);

}  // namespace troupe::cli
