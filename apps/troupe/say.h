#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace troupe::cli {

/// Thrown when nobody reads the standard output any more, as behind "| head".
struct NobodyReads {};

/// Whether the standard output is a pipe whose reader has gone.
bool nobody_reads();

/// Writes to the standard output; a terminal may have all that comes out (printable_lines).
/// Throws NobodyReads. What else goes wrong is seen at the end, by the state of the stream.
void say_text(std::string_view text);
/// The same, but goes on when nobody reads: for runs that must not end with their output.
void note_text(std::string_view text);
/// Writes one line to the standard error stream, without control characters.
void complain_text(std::string_view text);

template <class... Args>
void say(fmt::format_string<Args...> words, Args&&... args) {
  say_text(fmt::format(words, std::forward<Args>(args)...));
}
template <class... Args>
void note(fmt::format_string<Args...> words, Args&&... args) {
  note_text(fmt::format(words, std::forward<Args>(args)...));
}
template <class... Args>
void complain(fmt::format_string<Args...> words, Args&&... args) {
  complain_text(fmt::format(words, std::forward<Args>(args)...));
}

}  // namespace troupe::cli
