// How fast lines of numbers become floats, in bytes of text per second.
//
//   build/bench/bench/decode_benchmark
//   build/bench/bench/decode_benchmark --benchmark_filter='unit/(troupe|fast_float)/'
//
// Each parser reads the same lines of 3,900 fields: `unit` is %.6f of 0 to 1,
// `mixed` is %.6g with a sign over seven decades, one field in seven with an
// exponent, `bytes` is integers from 0 to 255, `science` is %.8e. Before it is
// timed, its values must have the bits of strtof. With two threads, each has half
// of the lines, and the rate is that of both; G is 2^30.
#include <benchmark/benchmark.h>
#include <fast_float/fast_float.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "troupe/ops/simd/number_decoder.h"

namespace troupe {
namespace {

constexpr std::int64_t kLines = 1000;
constexpr std::int64_t kFields = 3900;
constexpr char kDelimiter = ' ';

/// Text, its lines, and where their values go.
struct Data {
  struct Line {
    const char* begin;
    const char* end;
  };
  std::string text;
  std::vector<Line> lines;
  std::vector<float> values = std::vector<float>(kLines * kFields);
};

Data make_data(const char* format, const std::function<double(std::mt19937_64&)>& draw) {
  std::mt19937_64 random(20261129);
  std::string padding(simd::kDecodePadding, '\n');
  Data data;
  std::vector<std::size_t> ends;
  data.text = padding;
  for (std::int64_t line = 0; line < kLines; ++line) {
    for (std::int64_t field = 0; field < kFields; ++field) {
      char number[64];
      std::snprintf(number, sizeof number, format, draw(random));
      data.text += number;
      data.text += field + 1 < kFields ? kDelimiter : '\n';
    }
    ends.push_back(data.text.size() - 1);
  }
  data.text += padding;
  const char* begin = data.text.data() + padding.size();
  for (const auto end : ends) {
    data.lines.push_back({begin, data.text.data() + end});
    begin = data.text.data() + end + 1;
  }
  return data;
}

/// Reads one line of kFields numbers; false when it cannot.
using Parser = bool (*)(const Data::Line& line, float* out);

bool with_strtof(const Data::Line& line, float* out) {
  const char* at = line.begin;
  for (std::int64_t i = 0; i < kFields; ++i) {
    char* stop = nullptr;
    out[i] = std::strtof(at, &stop);
    if (stop == at) return false;
    at = stop + 1;
  }
  return true;
}

/// std::from_chars or fast_float's.
template <auto kFromChars>
bool with_from_chars(const Data::Line& line, float* out) {
  const char* at = line.begin;
  for (std::int64_t i = 0; i < kFields; ++i) {
    const auto [stop, error] = kFromChars(at, line.end, out[i]);
    if (error != std::errc{}) return false;
    at = stop + 1;
  }
  return true;
}

std::from_chars_result standard(const char* begin, const char* end, float& value) {
  return std::from_chars(begin, end, value);
}
fast_float::from_chars_result fast(const char* begin, const char* end, float& value) {
  return fast_float::from_chars(begin, end, value);
}

/// One of the decoder's levels, or simd::decode_floats, which picks one.
template <auto kDecode>
bool with_troupe(const Data::Line& line, float* out) {
  return kDecode(line.begin, line.end, kDelimiter, out, kFields, simd::DecodeOptions{}).ok();
}

bool right(const Data& data, Parser parse) {
  std::vector<float> want(kFields), got(kFields);
  for (const auto& line : data.lines) {
    if (!with_strtof(line, want.data()) || !parse(line, got.data())) return false;
    if (std::memcmp(want.data(), got.data(), kFields * sizeof(float)) != 0) return false;
  }
  return true;
}

void decode(benchmark::State& state, Data& data, Parser parse) {
  if (state.thread_index() == 0 && !right(data, parse)) {
    state.SkipWithError("not the bits of strtof");
    return;
  }
  const auto first = kLines * state.thread_index() / state.threads();
  const auto last = kLines * (state.thread_index() + 1) / state.threads();
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (auto i = first; i < last; ++i) {
      const auto& line = data.lines[static_cast<std::size_t>(i)];
      benchmark::DoNotOptimize(parse(line, data.values.data() + i * kFields));
      bytes += line.end - line.begin + 1;
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(bytes);
}

void add(const std::string& name, Data& data, Parser parse) {
  benchmark::RegisterBenchmark(name.c_str(), decode, std::ref(data), parse)
      ->Threads(1)
      ->Threads(2)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

void add_all(const std::string& name, Data& data) {
  const auto best = simd::best_isa();
  add(name + "/troupe", data, with_troupe<simd::decode_floats>);
  if (best >= simd::Isa::v4) add(name + "/troupe_v4", data, with_troupe<simd::v4::decode_floats>);
  if (best >= simd::Isa::v3) add(name + "/troupe_v3", data, with_troupe<simd::v3::decode_floats>);
  add(name + "/troupe_v2", data, with_troupe<simd::v2::decode_floats>);
  add(name + "/fast_float", data, with_from_chars<fast>);
  add(name + "/from_chars", data, with_from_chars<standard>);
  add(name + "/strtof", data, with_strtof);
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  using namespace troupe;
  using Random = std::mt19937_64;
  auto unit = make_data("%.6f", std::uniform_real_distribution<>(0, 1));
  auto mixed = make_data("%.6g", [](Random& random) {
    const auto magnitude = std::pow(10, std::uniform_real_distribution<>(-5, 2)(random));
    return random() % 2 == 0 ? magnitude : -magnitude;
  });
  auto bytes =
      make_data("%.0f", [](Random& random) { return static_cast<double>(random() % 256); });
  auto science = make_data("%.8e", std::normal_distribution<>(0, 1));
  add_all("unit", unit);
  add_all("mixed", mixed);
  add_all("bytes", bytes);
  add_all("science", science);

  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
