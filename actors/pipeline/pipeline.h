#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/decoders/element_step.h"
#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/pipeline/pipeline_editor.h"
#include "troupe/actors/readers/record_source.h"
#include "troupe/messages/data_state.h"
#include "troupe/ops/graph.h"
#include "troupe/queues/bucket_store.h"

namespace troupe {

class Troupe;
struct ReaderOptions;

using SourceFactory = std::function<std::unique_ptr<RecordSource>()>;
/// Each decoder actor gets a decoder of its own.
using DecoderFactory = std::function<std::shared_ptr<RecordDecoder>()>;
/// Spawns a reader actor, under this name, that keeps to these options.
using ReaderSpawner =
    std::function<Reader(Troupe& troupe, const std::string& name, const ReaderOptions& options)>;

/// What to do with the rows at the end of the data that do not fill a batch.
enum class Remainder { keep, drop };

struct DecodeOptions {
  int decoders = 0;                                ///< decoder actors; 0 for two per CPU
  std::size_t block_records = 64;                  ///< at most so many records move together ...
  std::size_t block_bytes = std::size_t{1} << 20;  ///< ... or about so many bytes
  std::int64_t skip_bad_records = 0;  ///< so many may be left out before it is a failure
  std::string quarantine{};           ///< a file for those that are left out; "" for none
  /// Where the sizes of elements vary: the most bytes that the elements of one block,
  /// which one decoder holds, may have.
  std::uint64_t decoded_bytes = std::uint64_t{64} << 20;
};

struct BufferOptions {
  std::int64_t capacity = 1'024;     ///< elements in the queue
  std::uint64_t capacity_bytes = 0;  ///< bytes of these elements; 0: no bound of its own, but
                                     ///< kVariableBytes where their sizes vary
};

struct ShuffleOptions {
  std::int64_t capacity = 10'000;          ///< elements in the queue
  std::int64_t min_after_dequeue = 1'000;  ///< while data come, so many stay behind to choose from
  std::uint64_t capacity_bytes = 0;        ///< as in BufferOptions
};

/// What a queue may hold where nobody has said so and the sizes of elements vary.
inline constexpr std::uint64_t kVariableBytes = std::uint64_t{256} << 20;

// A pipeline is described by values and wired by their types: records must be
// decoded before they can be shuffled, and examples put in batches before a
// model can have them. Nothing runs until a topology spawns it.
//
//   read_idx("images.gz").zip(read_idx("labels.gz")).repeat(3)
//       .decode({idx_pixels("images.gz"), idx_labels("labels.gz")})
//       .shuffle({.capacity = 5000}).batch(100, Remainder::drop)

class Batches;
class Examples;
class Records;

/// Makes that many streams of one, see Records::split.
using RecordSplitter = std::function<std::vector<Records>(std::size_t count)>;

/// A stream of records as they stand in files; several streams once zipped.
class Records {
 public:
  /// From a source of the user's own. `count` is the number of records of one
  /// pass, 0 when it is not known.
  Records(SourceFactory source, std::string description, std::int64_t count = 0);
  /// From a reader actor of the user's own. Whatever it reads is one pass: zip and
  /// repeat refuse such records, because they work on sources.
  static Records from_actor(ReaderSpawner spawner, std::string description, std::int64_t count = 0);

  /// The same, and how they are split.
  Records with_split(RecordSplitter splitter) const;

  /// `count` streams that together have each record of one large file once, to be read at
  /// the same time: decode and join them. Comes before everything else. Possible for lines,
  /// CSV records that are lines, and records of a fixed length, in one file that is not
  /// compressed; otherwise throws invalid_argument with what to do instead.
  std::vector<Records> split(std::size_t count) const;
  /// Record i of this with record i of the other, whatever the number of decoders.
  Records zip(const Records& other) const;
  /// The same records `epochs` times; 0 for ever. With a seed each epoch has the
  /// files in an order of its own.
  Records repeat(std::int64_t epochs, std::optional<std::uint64_t> shuffle_files = {}) const;
  /// Tensors from records: one decoder for each of the zipped streams.
  Examples decode(std::vector<DecoderFactory> decoders, const DecodeOptions& options = {}) const;

  /// A source of these records. Throws failed_precondition when an actor of the
  /// user's own reads them.
  std::unique_ptr<RecordSource> open() const;
  /// Spawns the actor that reads them.
  Reader spawn(Troupe& troupe, const std::string& name, const ReaderOptions& options) const;
  /// RecordSource::block_bytes, which an actor is supposed to keep to as well.
  std::uint64_t block_bytes(const BlockLimits& limits) const;
  /// RecordSource::held_bytes and stream_count; an actor's streams are not known.
  std::uint64_t held_bytes(const BlockLimits& limits) const;
  std::size_t stream_count() const;
  /// Whether a source of this process reads them, and no actor of the user's own.
  bool has_source() const { return !spawner_; }
  std::int64_t count() const { return count_; }
  /// Records in all passes; 0 when it is not known or has no end.
  std::int64_t total() const { return epochs_ * count_; }
  std::int64_t epochs() const { return epochs_; }
  const std::string& description() const { return description_; }

 private:
  void expect_source(const char* what) const;

  SourceFactory source_;
  ReaderSpawner spawner_;  // instead of a source
  RecordSplitter splitter_;
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

struct PadOptions {
  /// What fills up smaller elements: one value for each component, or one for all.
  /// Strings are filled up with empty ones.
  std::vector<double> values{0};
  /// The most that a padded batch may take; a larger one is an error.
  std::uint64_t batch_bytes = std::uint64_t{256} << 20;
};

struct BucketOptions {
  /// Ascending. Bucket i takes lengths below boundaries[i], the last one all others.
  std::vector<std::int64_t> boundaries{};
  /// Rows of the batches of each bucket: one more than there are boundaries.
  std::vector<std::int64_t> batch_sizes{};
  /// Of an element. By default its first extent that may vary.
  ElementLength length{};
  PadOptions padding{};
};

/// Makes another element of one. Decoders call it, several at the same time.
using ElementMap = std::function<Element(Element)>;
/// Whether an element is kept. Decoders call it, several at the same time.
using ElementFilter = std::function<bool(const Element&)>;

class FeedState;
class Feed;

/// A stream of tuples of tensors.
class Examples {
 public:
  /// Every element changed by `change`, in the decoders and in parallel.
  /// `components` is what it makes of them, where that is not what it gets. What it
  /// throws is a bad record, with file and line.
  Examples map(ElementMap change, std::vector<TensorSpec> components = {}) const;
  /// Only the elements of which `keep` says so; asked in the decoders, in parallel.
  Examples filter(ElementFilter keep) const;

  /// In random order, by a random shuffle queue.
  Examples shuffle(const ShuffleOptions& options) const;
  /// In the order of the decoders, or of the records if in_order(), by a FIFO queue.
  Examples buffer(const BufferOptions& options) const;
  Examples buffer(std::int64_t capacity) const { return buffer(BufferOptions{capacity, 0}); }
  /// `rows` examples stacked along a new first axis. Throws invalid_argument when
  /// their sizes vary.
  Batches batch(std::int64_t rows, Remainder remainder) const;
  /// The same for elements whose sizes vary: each is filled up, behind its last value
  /// along every axis, to the largest of its batch.
  Batches padded_batch(std::int64_t rows, Remainder remainder,
                       const PadOptions& options = {}) const;
  /// Padded batches of elements of like lengths. The queue holds one batch less a row
  /// for every bucket at least; the remainder rule is that of each bucket.
  Batches bucket_by_length(const BucketOptions& options, Remainder remainder) const;

  const std::vector<TensorSpec>& components() const;

 private:
  friend class Records;
  friend class Batches;
  friend class Feed;
  friend Examples join(const std::vector<Examples>& streams);
  struct Branch;
  struct Description;
  explicit Examples(std::shared_ptr<const Description> d) : d_(std::move(d)) {}
  /// A copy to change; map and filter come before the queue.
  std::shared_ptr<Description> copy() const;
  void check_padding(const PadOptions& options) const;
  std::shared_ptr<Description> add_step(const char* what, ElementStep step) const;
  std::shared_ptr<const Description> d_;
};

/// Several streams into one queue, each with a reader and decoders of its own. Their
/// elements come as they are ready, or block by block in turn when in_order(). An
/// extent that is not the same in all of them is then unknown. Throws
/// invalid_argument when elements of one cannot stand beside those of another.
Examples join(const std::vector<Examples>& streams);

/// The most bytes that data take on their way, stage by stage. Records that are
/// larger than half of the buffer that they are read into come on top, and so does
/// what the decoders need while they work.
struct MemoryBound {
  std::uint64_t readers = 0;   ///< records read ahead, and those that the decoders hold
  std::uint64_t decoders = 0;  ///< elements that wait for room in the queue; feeds
  std::uint64_t queue = 0;     ///< elements inside, and those that a batch is made of
  std::uint64_t batches = 0;   ///< stacked, on their way to the replicas, and with them
  /// The largest number for what is more than that.
  std::uint64_t total() const;
};

/// A stream of batches: what trains a model.
class Batches {
 public:
  /// Of a full batch; with buckets, of the largest one.
  std::int64_t rows() const { return rows_; }
  Remainder remainder() const { return remainder_; }
  /// dtype and shape of one example's components.
  const std::vector<TensorSpec>& components() const;

  /// The same with elements in the order of the records, whatever the number of
  /// decoders; shuffling then depends on the seed alone.
  Batches in_order() const;

  /// Batches that each replica holds, beside the one that it works on, so that
  /// neither stacking nor the way to its device is waited for: 1 unless said.
  Batches prefetch(std::int64_t batches) const;
  std::int64_t prefetched() const { return prefetch_; }

  /// A few lines for people: where the data come from and how they go, and warnings.
  std::string describe() const;
  /// What is allowed, but is hardly meant: a shuffle among fewer elements than a batch.
  std::vector<std::string> warnings() const;
  /// What data on their way to this many replicas may take at most. The declared
  /// sizes hold: where the sizes of elements vary, exceeding one is an error.
  MemoryBound memory(int replicas) const;
  std::uint64_t memory_bound(int replicas) const { return memory(replicas).total(); }
  /// Examples of one pass, and of all; 0 when it is not known or has no end.
  std::int64_t epoch_examples() const;
  std::int64_t total_examples() const;

  struct Running {
    std::vector<std::pair<std::string, Reader>> readers;
    std::vector<std::pair<std::string, Decoder>> decoders;  ///< feeds, and last the keeper
    Queue queue;
    PipelineEditor keeper;  ///< for checkpoints, and for PipelineEdits
    /// What could not go on from where it was, in words; of a pipeline that was to.
    std::vector<std::string> notes;
  };
  /// Spawns readers, decoders and queue, with `prefix` in front of their names.
  /// Nothing moves until the decoders are started.
  ///
  /// With `from` it goes on from a snapshot that a keeper has taken of a pipeline of this
  /// description, with the same seed: then the same elements come in the same order as from
  /// that one. Other numbers of decoders, epochs and capacities are fine. Throws
  /// failed_precondition, saying what is different, when it was a pipeline of other data.
  Running spawn(Troupe& troupe, const std::string& prefix, std::uint64_t seed,
                const PipelineSnapshot* from = nullptr) const;

  /// Throws as spawn() does for a snapshot of a pipeline of other data.
  void check_fits(const PipelineSnapshot& snapshot) const;

 private:
  friend class Examples;
  Batches(std::shared_ptr<const Examples::Description> d, std::int64_t rows, Remainder remainder)
      : d_(std::move(d)), rows_(rows), remainder_(remainder) {}
  std::shared_ptr<const Examples::Description> d_;
  std::int64_t rows_;
  Remainder remainder_;
  std::int64_t prefetch_ = 1;
};

}  // namespace troupe
