#pragma once

#include <string>

#include "troupe/actors/training/progress.h"

namespace troupe::cli {

/// One line that says how a run stands:
///
///   step 1,200/5,620  epoch 2.13  loss 0.412  accuracy 0.853  test loss 0.398 accuracy 0.861
///   9,800 samples/s  0:34 left  queue 96%  CPU 1.97/2
std::string progress_line(const Progress& progress, int cpus);

/// "0:34", "12:07", "3:02:15".
std::string clock_time(double seconds);

/// 1234567 as "1,234,567".
std::string with_commas(std::uint64_t number);

/// Prints progress to stdout: on a terminal one line that is written over, on a
/// pipe or file a line of its own each time.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(int cpus);
  void operator()(const Progress& progress);

 private:
  int cpus_;
  bool terminal_;
};

}  // namespace troupe::cli
