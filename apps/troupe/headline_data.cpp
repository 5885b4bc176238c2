#include "headline_data.h"

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "make_directory.h"
#include "troupe/actors/system_error.h"
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

class TextFile {
 public:
  explicit TextFile(std::string path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
    if (!file_) refuse();
    std::setvbuf(file_.get(), nullptr, _IOFBF, 1 << 20);
  }

  /// "0.123456" and a separator.
  void micro(std::uint32_t value, char separator) {
    std::array<char, 9> text{'0', '.', 0, 0, 0, 0, 0, 0, separator};
    for (int i = 7; i >= 2; --i) {
      text[i] = static_cast<char>('0' + value % 10);
      value /= 10;
    }
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) refuse();
    bytes_ += text.size();
  }

  std::uint64_t close() {
    if (std::fclose(file_.release()) != 0) refuse();
    return bytes_;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void refuse() const { system_error("write", path_); }
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t bytes_ = 0;
};

std::uint64_t write_pair(const std::string& features_path, const std::string& labels_path,
                         std::int64_t samples, RandomStream random) {
  std::vector<int> region_of;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column) region_of.push_back(region(row, column));

  TextFile features(features_path);
  TextFile labels(labels_path);
  std::array<std::uint32_t, kLabels> label{};
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (auto& value : label) value = static_cast<std::uint32_t>(random.below(kMicro));
    for (std::size_t pixel = 0; pixel < region_of.size(); ++pixel) {
      const auto noise =
          static_cast<std::uint32_t>(std::uint64_t{random.next()} * (kMicro / 4) >> 32);
      const int owner = region_of[pixel];
      const auto value = owner < 0 ? noise : noise + label[owner] * 3 / 4;
      features.micro(value, pixel + 1 == region_of.size() ? '\n' : ' ');
    }
    for (int k = 0; k < kLabels; ++k) labels.micro(label[k], k + 1 == kLabels ? '\n' : ' ');
  }
  return features.close() + labels.close();
}

}  // namespace

std::uint64_t write_headline_data(const HeadlineData& data) {
  if (data.samples < 1 || data.test_samples < 1)
    fail(Code::invalid_argument, "make-data needs at least 1 sample and 1 test sample, but got ",
         data.samples, " and ", data.test_samples);
  make_directory(data.directory);
  const auto in = [&](const char* name) { return data.directory + "/" + name; };
  return write_pair(in("features.txt"), in("labels.txt"), data.samples,
                    RandomStream(seed_for(data.seed, "headline/train"))) +
         write_pair(in("test_features.txt"), in("test_labels.txt"), data.test_samples,
                    RandomStream(seed_for(data.seed, "headline/test")));
}

}  // namespace troupe::cli
