#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>

#include "commands.h"
#include "say.h"

namespace troupe::cli {
namespace {

std::atomic<void*> what{nullptr};
std::atomic<void (*)(void*) noexcept> stop{nullptr};
volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int) {
  interrupts = interrupts + 1;
  auto* const ask = stop.load();
  if (interrupts > 1 || ask == nullptr) _exit(kExitInterrupted);
  constexpr char kNote[] = "\nstopping after this step; Ctrl-C again stops at once\n";
  (void)!write(STDERR_FILENO, kNote, sizeof(kNote) - 1);
  ask(what.load());
}

}  // namespace

void stop_on_interrupt(Stoppable running) {
  if (running.stop == nullptr) stop.store(nullptr);
  what.store(running.what);
  stop.store(running.stop);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // The terminal is gone; nohup has it ignored.
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
}

bool was_interrupted() { return interrupts > 0; }

int end_after(const std::vector<std::string>& left, std::chrono::milliseconds patience,
              int exit_code) {
  if (left.empty()) return exit_code;
  complain("troupe: still running after {} s: {}", patience.count() / 1000, fmt::join(left, ", "));
  std::fflush(stdout);
  _exit(exit_code == kExitOk ? kExitFailed : exit_code);
}

int stop_training(Training& training, const TrainingOptions& options, int exit_code) {
  return end_after(training.stop(options.patience), options.patience, exit_code);
}

}  // namespace troupe::cli
