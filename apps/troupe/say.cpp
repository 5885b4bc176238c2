#include "say.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "troupe/ops/printable.h"

namespace troupe::cli {

bool nobody_reads() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

void note_text(std::string_view text) {
  const auto shown = printable_lines(text);
  (void)std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void say_text(std::string_view text) {
  note_text(text);
  if (std::ferror(stdout) != 0 && nobody_reads()) throw NobodyReads();
}

void complain_text(std::string_view text) {
  std::fflush(stdout);  // what came before stands above it
  const auto line = printable(text) + '\n';
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace troupe::cli
