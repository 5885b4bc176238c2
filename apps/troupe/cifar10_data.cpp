#include "cifar10_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "data_files.h"
#include "troupe/actors/decoders/cifar10_decoder.h"
#include "troupe/ops/error.h"
#include "troupe/ops/random.h"

namespace troupe::cli {
namespace {

constexpr int kSide = Cifar10Decoder::kSide;
constexpr int kChannels = Cifar10Decoder::kChannels;
constexpr int kBatches = 5;
constexpr std::array<double, 5> kPeriods{3, 4, 6, 9, 14};

using Record = std::array<std::uint8_t, Cifar10Decoder::kRecordBytes>;
using Wave = std::array<double, kSide>;

/// One period after the other, from a random phase on.
Wave wave(double period, RandomStream& random) {
  const double phase = random.uniform();
  Wave values;
  for (int i = 0; i < kSide; ++i) values[i] = std::sin(2 * std::numbers::pi * (i / period + phase));
  return values;
}

void draw(Record& record, RandomStream& random) {
  const auto label = random.below(Cifar10Decoder::kClasses);
  record[0] = static_cast<std::uint8_t>(label);
  const bool across = label % 2 == 1;
  const auto grating = wave(kPeriods[label / 2], random);
  const auto diagonal = wave(3 + 12 * random.uniform(), random);
  const bool falling = random.below(2) == 0;
  auto* pixel = record.data() + 1;
  for (int c = 0; c < kChannels; ++c) {
    const double middle = 80 + 96 * random.uniform();
    const double strength = (random.below(2) == 0 ? -1 : 1) * (15 + 35 * random.uniform());
    const double weaker = 40 * (random.uniform() - 0.5);
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        const double noise = 80 * (to_unit_float(random.next()) - 0.5);
        const double value = middle + strength * grating[across ? y : x] +
                             weaker * diagonal[(falling ? x + y : x + kSide - y) % kSide] + noise;
        *pixel++ = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
      }
  }
}

void write_batch(AtomicFile& file, std::int64_t samples, RandomStream random) {
  Record record;
  for (std::int64_t i = 0; i < samples; ++i) {
    draw(record, random);
    file.write(record.data(), record.size());
  }
}

}  // namespace

std::uint64_t write_cifar10_data(const Cifar10Data& data) {
  if (data.samples < kBatches || data.test_samples < 1)
    fail(Code::invalid_argument, "make-data needs at least ", kBatches,
         " samples, one for each file, and 1 test sample, but got ", data.samples, " and ",
         data.test_samples);
  DataFiles files(data.directory);
  const auto each = data.samples / kBatches;
  const auto rest = data.samples % kBatches;
  for (int i = 0; i < kBatches; ++i)
    write_batch(files.add(text("data_batch_", i + 1, ".bin")),
                each + rest * (i + 1) / kBatches - rest * i / kBatches,
                RandomStream(seed_for(data.seed, "cifar10/train"), i));
  write_batch(files.add("test_batch.bin"), data.test_samples,
              RandomStream(seed_for(data.seed, "cifar10/test")));
  return files.commit();
}

}  // namespace troupe::cli
