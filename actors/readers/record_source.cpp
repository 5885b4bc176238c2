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
