#include "progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace troupe::cli {

std::string clock_time(double seconds) {
  const auto total = static_cast<long long>(std::llround(std::max(0.0, seconds)));
  if (total < 3600) return fmt::format("{}:{:02}", total / 60, total % 60);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

std::string with_commas(std::uint64_t number) {
  auto digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

std::string progress_line(const Progress& p, int cpus) {
  std::string line = "step " + with_commas(p.step);
  if (p.max_steps > 0) line += "/" + with_commas(p.max_steps);
  if (p.epoch > 0) line += fmt::format("  epoch {:.2f}", p.epoch);
  for (std::size_t i = 0; i < p.training.size() && i < p.names.size(); ++i)
    line += fmt::format("  {} {:.4g}", p.names[i], p.training[i]);
  for (std::size_t i = 0; i < p.evaluation.size() && i < p.names.size(); ++i)
    line += fmt::format("  {}{} {:.4g}", i == 0 ? "test " : "", p.names[i], p.evaluation[i]);
  line += fmt::format(
      "  {} samples/s",
      with_commas(static_cast<std::uint64_t>(std::llround(std::max(0.0, p.examples_per_second)))));
  if (p.seconds_left >= 0 && !p.last) line += fmt::format("  {} left", clock_time(p.seconds_left));
  line += fmt::format("  queue {:.0f}%  CPU {:.2f}/{}", 100 * p.queue_fill, p.cpu_use, cpus);
  return line;
}

ProgressPrinter::ProgressPrinter(int cpus) : cpus_(cpus), terminal_(isatty(STDOUT_FILENO) == 1) {}

void ProgressPrinter::operator()(const Progress& progress) {
  auto line = progress_line(progress, cpus_);
  if (!terminal_) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    return;
  }
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && line.size() >= size.ws_col)
    line.resize(size.ws_col - 1U);  // a wrapped line could not be written over
  std::printf("\r\033[K%s%s", line.c_str(), progress.last ? "\n" : "");
  std::fflush(stdout);
}

}  // namespace troupe::cli
