#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <limits>
#include <random>

namespace troupe::test {

/// Runs `train` in a process of its own, which is killed after a random number of reports, until
/// it has come to an end.
template <class Train>
void kill_again_and_again(const Train& train) {
  constexpr int kKills = 5;
  constexpr std::size_t kMostReports = 40;
  std::mt19937 random(std::random_device{}());
  for (int kill = 0;; ++kill) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      const bool well = train([&](const auto&...) { (void)!write(ends[1], "x", 1); });
      _exit(well ? 0 : 1);
    }
    close(ends[1]);
    char byte = 0;
    const auto most =
        kill < kKills ? random() % kMostReports : std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i < most && read(ends[0], &byte, 1) == 1; ++i) {
    }
    if (kill < kKills) ::kill(child, SIGKILL);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      return;
    }
  }
}

}  // namespace troupe::test
