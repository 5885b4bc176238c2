#include "troupe/actors/readers/record_source.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "troupe/ops/error.h"

namespace troupe {

std::string SourcePosition::str() const {
  auto words = text("epoch ", epoch);
  for (const auto& s : streams)
    words += text("; file ", s.file, " offset ", s.offset, " record ", s.record, " skip ", s.skip);
  return words;
}

void SourcePosition::nest(const SourcePosition& inner, std::uint64_t skip) {
  streams.push_back({.file = inner.epoch, .offset = inner.streams.size(), .skip = skip});
  streams.insert(streams.end(), inner.streams.begin(), inner.streams.end());
}

SourcePosition SourcePosition::parse(std::string_view text) {
  std::istringstream in{std::string(text)};
  bool good = true;
  const auto expect = [&](const char* word, auto& value) {
    std::string found;
    good = good && in >> found && found == word && in >> value;
  };
  SourcePosition position;
  expect("epoch", position.epoch);
  char separator = 0;
  while (good && in >> separator) {
    good = separator == ';';
    auto& stream = position.streams.emplace_back();
    expect("file", stream.file);
    expect("offset", stream.offset);
    expect("record", stream.record);
    expect("skip", stream.skip);
  }
  if (!good) fail(Code::data_loss, "not the position of a reader: \"", text, '"');
  return position;
}

SourcePosition RecordSource::piece(std::uint64_t number) const {
  fail(Code::unimplemented, describe(), " cannot be read from piece ", number, ": there is one");
}

std::uint64_t RecordSource::piece_of(const SourcePosition&) const { return 0; }

NestedPositions::NestedPositions(const SourcePosition& outer, std::size_t used)
    : outer_(outer), next_(used) {
  if (used > outer.streams.size())
    fail(Code::data_loss, "not a position of this reader: \"", outer.str(), '"');
}

NestedPositions::Nested NestedPositions::next() {
  const auto& streams = outer_.streams;
  if (next_ == streams.size() || streams[next_].offset > streams.size() - next_ - 1)
    fail(Code::data_loss, "not a position of this reader: \"", outer_.str(), '"');
  const auto& head = streams[next_];
  const auto first = streams.begin() + static_cast<std::ptrdiff_t>(next_) + 1;
  next_ += 1 + head.offset;
  return {{head.file, {first, first + static_cast<std::ptrdiff_t>(head.offset)}}, head.skip};
}

void NestedPositions::expect_end() const {
  if (next_ < outer_.streams.size())
    fail(Code::data_loss, "not a position of this reader: \"", outer_.str(), '"');
}

void skip_records(RecordSource& source, std::uint64_t count) {
  std::vector<RecordRun> skipped;
  for (auto rest = count; rest > 0; rest -= skipped.at(0).count()) {
    BlockLimits limits;
    limits.records = std::min<std::uint64_t>(rest, limits.records);
    if (!source.read(skipped, limits))
      fail(Code::data_loss, source.describe(), ": the data end ", rest,
           " records before the place where reading was to go on");
  }
}

std::vector<std::size_t> file_order(std::span<const std::size_t> order, std::size_t count) {
  std::vector<std::size_t> natural(count);
  std::iota(natural.begin(), natural.end(), std::size_t{0});
  if (order.empty()) return natural;
  if (!std::ranges::is_permutation(order, natural))
    fail(Code::invalid_argument, "an order of ", order.size(), " files does not name each of ",
         count, " files once");
  return {order.begin(), order.end()};
}

}  // namespace troupe
