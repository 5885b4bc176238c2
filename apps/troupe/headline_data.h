#pragma once

#include <cstdint>
#include <string>

namespace troupe::cli {

struct HeadlineData {
  std::string directory = ".";
  std::int64_t samples = 20'000;
  std::int64_t test_samples = 793;
  std::uint64_t seed = 1;
};

/// Writes features.txt, labels.txt, test_features.txt and test_labels.txt.
///
/// A feature line has 20 x 195 numbers in [0, 1) with six digits, a label line
/// 15. The relation that can be learned: label k is the brightness, on top of
/// noise, of a region of the 20 x 195 image that belongs to k. Predicting the mean
/// of every label gives an RMSE of 0.289.
/// Returns the bytes written. Throws Error when a file cannot be written; then there is none.
std::uint64_t write_headline_data(const HeadlineData& data);

}  // namespace troupe::cli
