#pragma once

#include <algorithm>
#include <vector>

namespace troupe {

/// The upper one of the two in the middle; 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace troupe
