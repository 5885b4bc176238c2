#pragma once

#include <string>

namespace troupe {

/// A text in quotes as Graphviz reads it, with its line ends.
std::string dot_quoted(const std::string& words);

}  // namespace troupe
