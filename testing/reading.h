#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/testing/scene.h"

namespace troupe::contract {

/// Limits that a reader is asked to keep to.
inline ReaderOptions blocks_of(std::size_t records, std::size_t bytes = std::size_t{1} << 20,
                               std::size_t read_ahead = 2) {
  return {.limits = {records, bytes}, .read_ahead = read_ahead};
}

/// What came out of a reader.
struct Reading {
  std::vector<std::string> records;  ///< those of zipped streams joined
  std::vector<std::string> places;
  std::vector<std::uint64_t> sequences;  ///< of the blocks
  std::vector<std::size_t> counts;       ///< of records in each block
  caf::error end;                        ///< why no more came

  void add(const RecordBlock& block);
  /// Sorts the blocks by their numbers: they may come to several askers.
  void sort_blocks();
};

/// The answer to a request for a block; what is in a block is looked at, too.
const Reply<RecordBlock>& next(Scene& scene, const Reader& reader);

/// Reads to the end, or the failure.
Reading read_on(Scene& scene, const Reader& reader);

/// The same from a new reader, which must end well and have enough records.
Reading read_all(Scene& scene, const ReaderOptions& options);

/// Fails unless both have the same records, with the same places, from `first` of
/// `all` on. `what` says what was read: "the records after a restart".
void expect_rest(Scene& scene, const std::string& what, const Reading& part, const Reading& all,
                 std::size_t first);

ReaderSnapshot snapshot(Scene& scene, const Reader& reader);

}  // namespace troupe::contract
