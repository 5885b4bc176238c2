#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "actors/decoders/listed_source.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/pipeline.h"

namespace troupe::test {

inline Records listed(std::vector<std::string> records, std::size_t block = 1) {
  return {[records = std::move(records), block] {
            return std::make_unique<ListedSource>(records, block);
          },
          "a list"};
}

inline DecoderFactory plain_numbers() {
  return [] { return std::make_shared<PlainNumberDecoder>(); };
}

/// The examples begin, begin + 1, ... end - 1.
inline Examples number_examples(int begin, int end, std::size_t block = 3, int decoders = 2) {
  std::vector<std::string> records;
  for (int i = begin; i < end; ++i) records.push_back(std::to_string(i));
  return listed(std::move(records), block)
      .decode({plain_numbers()}, {.decoders = decoders, .block_records = block});
}

/// All values of the first component, batch by batch.
inline std::vector<std::vector<std::int64_t>> all_batches(const Batches& batches) {
  BatchIterator iterator(batches, {2, 1});
  std::vector<std::vector<std::int64_t>> all;
  while (const auto batch = iterator.next()) {
    const auto values = batch->components.at(0).read<std::int64_t>();
    all.emplace_back(values.begin(), values.end());
  }
  return all;
}

inline std::vector<std::int64_t> all_numbers(const Batches& batches) {
  std::vector<std::int64_t> all;
  for (const auto& batch : all_batches(batches)) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

}  // namespace troupe::test
