#include "troupe/actors/training/progress.h"

#include <sys/resource.h>

namespace troupe {

std::chrono::nanoseconds process_cpu_time() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto time = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return time(use.ru_utime) + time(use.ru_stime);
}

}  // namespace troupe
