#pragma once

#include <chrono>

#include "troupe/messages/payloads.h"

namespace troupe {

/// What an actor of the data path is doing.
enum class StageActivity { idle, busy, waiting_for_input, waiting_for_output };

/// Adds up how long an actor did what: call enter() at each change.
class StageClock {
 public:
  using Clock = std::chrono::steady_clock;

  void enter(StageActivity activity) {
    const auto now = Clock::now();
    add(status_, activity_, now - since_);
    activity_ = activity;
    since_ = now;
  }

  void passed_on(std::uint64_t records, std::uint64_t bytes) {
    status_.records += records;
    status_.bytes += bytes;
  }

  /// Everything until now, the present activity included.
  StageStatus read() const {
    auto status = status_;
    add(status, activity_, Clock::now() - since_);
    return status;
  }

 private:
  static void add(StageStatus& status, StageActivity activity, std::chrono::nanoseconds time) {
    switch (activity) {
      case StageActivity::idle:
        break;
      case StageActivity::busy:
        status.busy += time;
        break;
      case StageActivity::waiting_for_input:
        status.waiting_for_input += time;
        break;
      case StageActivity::waiting_for_output:
        status.waiting_for_output += time;
        break;
    }
  }

  StageStatus status_;
  StageActivity activity_ = StageActivity::idle;
  Clock::time_point since_ = Clock::now();
};

}  // namespace troupe
