#pragma once

#include <cstdint>
#include <string>

namespace troupe::cli {

struct Cifar10Data {
  std::string directory = ".";
  std::int64_t samples = 50'000;
  std::int64_t test_samples = 10'000;
  std::uint64_t seed = 1;
};

/// Writes data_batch_1.bin to data_batch_5.bin, which share the samples, and
/// test_batch.bin, in the binary format of CIFAR-10.
///
/// An image is a grating in two random colours at a random phase, under a weaker
/// diagonal one and noise. What can be learned: class k is the direction of the grating
/// (k odd: across) and its period (3, 4, 6, 9 or 14 pixels). It can be seen in any 24 x
/// 24 pixels, in the mirror, brighter or darker; no single pixel says anything.
/// Returns the bytes written. Throws Error when a file cannot be written; then there is none.
std::uint64_t write_cifar10_data(const Cifar10Data& data);

}  // namespace troupe::cli
