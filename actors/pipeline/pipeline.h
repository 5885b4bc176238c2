#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/readers/record_source.h"
#include "troupe/messages/protocol.h"
#include "troupe/ops/graph.h"

namespace troupe {

class Troupe;

using SourceFactory = std::function<std::unique_ptr<RecordSource>()>;
/// Each decoder actor gets a decoder of its own.
using DecoderFactory = std::function<std::shared_ptr<RecordDecoder>()>;

/// What to do with the rows at the end of the data that do not fill a batch.
enum class Remainder { keep, drop };

struct DecodeOptions {
  int decoders = 0;                                ///< decoder actors; 0 for two per CPU
  std::size_t block_records = 64;                  ///< at most so many records move together ...
  std::size_t block_bytes = std::size_t{1} << 20;  ///< ... or about so many bytes
  std::int64_t skip_bad_records = 0;  ///< so many may be left out before it is a failure
  std::string quarantine{};           ///< a file for those that are left out; "" for none
};

struct ShuffleOptions {
  std::int64_t capacity = 10'000;          ///< elements in the queue
  std::int64_t min_after_dequeue = 1'000;  ///< while data come, so many stay behind to choose from
};

// A pipeline is described by values and wired by their types: records must be
// decoded before they can be shuffled, and examples put in batches before a
// model can have them. Nothing runs until a topology spawns it.
//
//   read_idx("images.gz").zip(read_idx("labels.gz")).repeat(3)
//       .decode({idx_pixels("images.gz"), idx_labels("labels.gz")})
//       .shuffle({.capacity = 5000}).batch(100, Remainder::drop)

class Batches;
class Examples;

/// A stream of records as they stand in files; several streams once zipped.
class Records {
 public:
  /// From a source of the user's own. `count` is the number of records of one
  /// pass, 0 when it is not known.
  Records(SourceFactory source, std::string description, std::int64_t count = 0);

  /// Record i of this with record i of the other, whatever the number of decoders.
  Records zip(const Records& other) const;
  /// The same records `epochs` times; 0 for ever. With a seed each epoch has the
  /// files in an order of its own.
  Records repeat(std::int64_t epochs, std::optional<std::uint64_t> shuffle_files = {}) const;
  /// Tensors from records: one decoder for each of the zipped streams.
  Examples decode(std::vector<DecoderFactory> decoders, const DecodeOptions& options = {}) const;

  std::unique_ptr<RecordSource> open() const { return source_(); }
  std::int64_t count() const { return count_; }
  /// Records in all passes; 0 when it is not known or has no end.
  std::int64_t total() const { return epochs_ * count_; }
  std::int64_t epochs() const { return epochs_; }
  const std::string& description() const { return description_; }

 private:
  SourceFactory source_;
  std::string description_;
  std::int64_t count_ = 0;
  std::int64_t epochs_ = 1;
};

/// Lines of text files: paths or patterns ("data/part-*.txt"); the files are
/// read one after the other. Throws not_found at once for what is not there.
Records read_text(const std::vector<std::string>& files, int skip_header_lines = 0);

/// Items along the first axis of an IDX file, plain or .gz.
Records read_idx(const std::string& file);

/// Lines of numbers to float32 tensors of this shape; blanks are merged when the
/// delimiter is a blank.
DecoderFactory numbers(const Shape& shape, char delimiter = ' ');
/// Bytes of an IDX file as float32 from 0 to 1, [height, width, 1] for images.
DecoderFactory idx_pixels(const std::string& file);
/// Values of an IDX file as int64.
DecoderFactory idx_labels(const std::string& file);

/// A stream of tuples of tensors.
class Examples {
 public:
  /// In random order, by a random shuffle queue.
  Examples shuffle(const ShuffleOptions& options) const;
  /// In the order of the decoders, or of the records if in_order(), by a FIFO
  /// queue of this many elements.
  Examples buffer(std::int64_t capacity) const;
  /// `rows` examples stacked along a new first axis.
  Batches batch(std::int64_t rows, Remainder remainder) const;

 private:
  friend class Records;
  friend class Batches;
  struct Description {
    explicit Description(Records r) : records(std::move(r)) {}
    Records records;
    std::vector<DecoderFactory> decoders;
    DecodeOptions decoding;
    bool shuffled = false;
    ShuffleOptions queue;
    bool ordered = false;
    std::vector<TensorSpec> components;
  };
  explicit Examples(std::shared_ptr<const Description> d) : d_(std::move(d)) {}
  std::shared_ptr<const Description> d_;
};

/// A stream of batches: what trains a model.
class Batches {
 public:
  std::int64_t rows() const { return rows_; }
  Remainder remainder() const { return remainder_; }
  /// dtype and shape of one example's components.
  const std::vector<TensorSpec>& components() const { return d_->components; }

  /// The same with elements in the order of the records, whatever the number of
  /// decoders; shuffling then depends on the seed alone.
  Batches in_order() const;

  /// Two lines for people: where the data come from and how they go.
  std::string describe() const;
  /// Bytes that data on their way to this many replicas may take at most.
  std::uint64_t memory_bound(int replicas) const;
  std::int64_t epoch_examples() const { return d_->records.count(); }
  std::int64_t total_examples() const { return d_->records.total(); }

  struct Running {
    std::vector<std::pair<std::string, Decoder>> decoders;
    Queue queue;
  };
  /// Spawns reader, decoders and queue, with `prefix` in front of their names.
  /// Nothing moves until the decoders are started.
  Running spawn(Troupe& troupe, const std::string& prefix, std::uint64_t seed) const;

 private:
  friend class Examples;
  Batches(std::shared_ptr<const Examples::Description> d, std::int64_t rows, Remainder remainder)
      : d_(std::move(d)), rows_(rows), remainder_(remainder) {}
  std::shared_ptr<const Examples::Description> d_;
  std::int64_t rows_;
  Remainder remainder_;
};

}  // namespace troupe
