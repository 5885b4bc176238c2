#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/messages/payloads.h"

namespace troupe {

/// How much a block of records may hold: whichever is reached first, but one
/// record in any case.
struct BlockLimits {
  std::size_t records = 128;
  std::size_t bytes = std::size_t{1} << 20;
  bool cross_files = false;  ///< a run may hold records of several files
  /// Reading ends with the piece that it is in, until the next seek. Only for sources that
  /// have several.
  bool within_piece = false;
};

/// Where one stream of records goes on.
struct StreamPosition {
  std::uint64_t file = 0;    ///< position in the epoch's order of the files
  std::uint64_t offset = 0;  ///< byte in the file, decompressed
  std::int64_t record = 1;   ///< its number: the line
  std::uint64_t skip = 0;    ///< records from there on that have been given out already
  friend bool operator==(const StreamPosition&, const StreamPosition&) = default;
};

/// Where a source goes on; a string that a checkpoint can hold.
struct SourcePosition {
  std::uint64_t epoch = 0;  ///< from 0
  std::vector<StreamPosition> streams;

  /// Appends the position of a source inside of this one: a stream that holds its
  /// epoch (as file), how many streams it has (as offset) and `skip`, then those.
  void nest(const SourcePosition& inner, std::uint64_t skip = 0);

  /// "epoch 1; file 0 offset 4711 record 12 skip 0", one part for each stream.
  std::string str() const;
  /// The inverse of str(). Throws data_loss.
  static SourcePosition parse(std::string_view text);
  friend bool operator==(const SourcePosition&, const SourcePosition&) = default;
};

/// Turns something outside into records, block by block, in the thread of the
/// caller: what a reader actor runs. Derive from it to read a format of your own.
///
/// A source never copies a record: runs share the buffer that was read.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  /// Replaces `streams` by the next records, the same number for each stream and
  /// at least one; false at the end of the data. Records of two files share a run
  /// only where the limits or the kind of source allow it. After an exception the
  /// source may not be used any more.
  virtual bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) = 0;

  /// Where the next read goes on.
  virtual SourcePosition position() const = 0;
  /// Goes on where another source of the same files was.
  virtual void seek(const SourcePosition& position) = 0;

  /// Starts again from the first record, with the files in the given order
  /// (positions in the original order; empty for that order).
  virtual void restart(std::span<const std::size_t> order) = 0;
  virtual std::size_t file_count() const { return 1; }
  /// How many streams read() gives; 0 where that is not known before.
  virtual std::size_t stream_count() const { return 0; }

  // What several readers share are pieces: each record is in one of them, and each piece is read
  // by one source.

  static constexpr std::uint64_t kEndless = ~std::uint64_t{0};
  /// How many pieces there are in all; 1 where records can only be read one after the other.
  virtual std::uint64_t pieces() const { return 1; }
  /// Where a piece begins, from 0. Throws unimplemented for a source of one piece.
  virtual SourcePosition piece(std::uint64_t number) const;
  /// The piece in which reading goes on from there.
  virtual std::uint64_t piece_of(const SourcePosition& position) const;

  /// The bytes of memory that the records of one block keep at most, unless a single
  /// record is larger: for the memory bound of a pipeline.
  virtual std::uint64_t block_bytes(const BlockLimits& limits) const { return 2 * limits.bytes; }
  /// The bytes that it keeps itself, beside the blocks that it has given out.
  virtual std::uint64_t held_bytes(const BlockLimits& limits) const { return block_bytes(limits); }

  /// "lines of 2 files (a.txt, b.txt)", for messages.
  virtual std::string describe() const = 0;
  /// What has been left out so far: "1 of 3 files was left out: ..."; "" for nothing.
  virtual std::string report() const { return {}; }
};

/// Reads the positions that were nested in another one, in the same order.
class NestedPositions {
 public:
  /// `outer` for messages; the first `used` of its streams belong to the source itself.
  explicit NestedPositions(const SourcePosition& outer, std::size_t used = 0);

  struct Nested {
    SourcePosition position;
    std::uint64_t skip = 0;
  };
  /// Throws data_loss when there is none.
  Nested next();
  /// Throws data_loss when there is another one.
  void expect_end() const;

 private:
  const SourcePosition& outer_;
  std::size_t next_;
};

/// Reads that many records and drops them. Throws data_loss when there are not as many.
void skip_records(RecordSource& source, std::uint64_t count);

/// `order` if it names each of `count` files once, their own order if it is empty.
/// Throws invalid_argument.
std::vector<std::size_t> file_order(std::span<const std::size_t> order, std::size_t count);

}  // namespace troupe
