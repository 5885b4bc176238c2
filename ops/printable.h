#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// A text as a terminal may have it: control characters (C0, DEL, C1) and bytes that are not
/// UTF-8 become \n, \t, \r or \x1b, everything else stays. For names and messages whose words
/// come out of files.
std::string printable(std::string_view text);

/// The same, but ends of lines stay.
std::string printable_lines(std::string_view text);

}  // namespace troupe
