#include "headline_data.h"

#include <array>
#include <vector>

#include "data_files.h"
#include "troupe/ops/error.h"
#include "troupe/ops/random.h"

namespace troupe::cli {
namespace {

constexpr int kRows = 20;
constexpr int kColumns = 195;
constexpr int kLabels = 15;
constexpr std::uint32_t kMicro = 1'000'000;

/// The label whose region a pixel lies in: three bands of rows by five of
/// columns, with a margin; -1 outside.
int region(int row, int column) {
  const int band = row / 6;
  const int stripe = column / 39;
  const bool inside = band < 3 && row % 6 < 5 && column % 39 >= 2 && column % 39 < 37;
  return inside ? band * 5 + stripe : -1;
}

/// "0.123456" and a separator.
void write_micro(AtomicFile& file, std::uint32_t value, char separator) {
  std::array<char, 9> text{'0', '.', 0, 0, 0, 0, 0, 0, separator};
  for (int i = 7; i >= 2; --i) {
    text[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  file.write(text.data(), text.size());
}

void write_pair(AtomicFile& features, AtomicFile& labels, std::int64_t samples,
                RandomStream random) {
  std::vector<int> region_of;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column) region_of.push_back(region(row, column));

  std::array<std::uint32_t, kLabels> label{};
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (auto& value : label) value = static_cast<std::uint32_t>(random.below(kMicro));
    for (std::size_t pixel = 0; pixel < region_of.size(); ++pixel) {
      const auto noise =
          static_cast<std::uint32_t>(std::uint64_t{random.next()} * (kMicro / 4) >> 32);
      const int owner = region_of[pixel];
      const auto value = owner < 0 ? noise : noise + label[owner] * 3 / 4;
      write_micro(features, value, pixel + 1 == region_of.size() ? '\n' : ' ');
    }
    for (int k = 0; k < kLabels; ++k) write_micro(labels, label[k], k + 1 == kLabels ? '\n' : ' ');
  }
}

}  // namespace

std::uint64_t write_headline_data(const HeadlineData& data) {
  if (data.samples < 1 || data.test_samples < 1)
    fail(Code::invalid_argument, "make-data needs at least 1 sample and 1 test sample, but got ",
         data.samples, " and ", data.test_samples);
  DataFiles files(data.directory);
  auto& features = files.add("features.txt");
  auto& labels = files.add("labels.txt");
  write_pair(features, labels, data.samples, RandomStream(seed_for(data.seed, "headline/train")));
  auto& test_features = files.add("test_features.txt");
  auto& test_labels = files.add("test_labels.txt");
  write_pair(test_features, test_labels, data.test_samples,
             RandomStream(seed_for(data.seed, "headline/test")));
  return files.commit();
}

}  // namespace troupe::cli
