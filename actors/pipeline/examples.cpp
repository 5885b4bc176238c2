#include <algorithm>
#include <utility>

#include "troupe/actors/pipeline/description.h"
#include "troupe/actors/pipeline/feed_state.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/error.h"

namespace troupe {

// ---- what stands behind them -----------------------------------------------------------------

Examples::Branch::Branch(Records r, std::vector<DecoderFactory> d, const DecodeOptions& options)
    : records(std::move(r)), decoders(std::move(d)), decoding(options) {}

Examples::Branch::Branch(std::shared_ptr<FeedState> f)
    : records({}, f->title()), feed(std::move(f)) {}

std::vector<QueueComponent> Examples::Branch::made() const {
  return feed ? feed->components() : decoder(nullptr, 0, false)->components();
}

std::shared_ptr<TupleDecoder> Examples::Branch::decoder(const std::shared_ptr<BadRecords>& bad,
                                                        std::uint64_t block_bytes, bool own_buffers,
                                                        std::uint32_t reader) const {
  std::vector<std::shared_ptr<RecordDecoder>> streams;
  for (const auto& factory : decoders) {
    auto made = factory ? factory() : nullptr;
    if (!made)
      fail(Code::invalid_argument, records.description(), ": the factory of decoder ",
           streams.size(), " gave none");
    streams.push_back(std::move(made));
  }
  return std::make_shared<TupleDecoder>(std::move(streams), bad,
                                        ElementSteps{steps, block_bytes, own_buffers, reader});
}

bool Examples::Description::varies() const {
  return std::ranges::any_of(components, [](const auto& component) {
    return !component.shape.known() || component.dtype == DType::string;
  });
}

std::uint64_t Examples::Description::capacity_bytes() const {
  return queue.capacity_bytes == 0 && varies() ? kVariableBytes : queue.capacity_bytes;
}

// Two per CPU: while one decoder waits for the reader or the queue another one has a
// block in its hands.
int Examples::Description::decoder_count(const Branch& branch) const {
  if (branch.feed) return 1;
  if (branch.decoding.decoders > 0) return branch.decoding.decoders;
  return std::max(1, 2 * schedulable_cpus() / static_cast<int>(branches.size()));
}

std::shared_ptr<Examples::Description> Examples::copy() const {
  return std::make_shared<Description>(*d_);
}

const std::vector<TensorSpec>& Examples::components() const { return d_->components; }

// ---- on the way into the queue ---------------------------------------------------------------

std::shared_ptr<Examples::Description> Examples::add_step(const char* what,
                                                          ElementStep step) const {
  if (d_->queued)
    fail(Code::failed_precondition, what,
         " comes before shuffle and buffer: it is done on the way into the queue");
  auto d = copy();
  for (auto& branch : d->branches) branch.steps.push_back(step);
  return d;
}

Examples Examples::map(ElementMap change, std::vector<TensorSpec> components) const {
  if (!change) fail(Code::invalid_argument, "map needs a function, but got none");
  auto d = add_step("map", [change = std::move(change)](Element& element) {
    element = change(std::move(element));
    return true;
  });
  if (!components.empty()) d->components = std::move(components);
  return Examples(std::move(d));
}

Examples Examples::filter(ElementFilter keep) const {
  if (!keep) fail(Code::invalid_argument, "filter needs a function, but got none");
  auto d = add_step("filter", [keep = std::move(keep)](Element& element) { return keep(element); });
  d->filtered = true;
  return Examples(std::move(d));
}

Examples join(const std::vector<Examples>& streams) {
  if (streams.empty()) fail(Code::invalid_argument, "join needs at least one stream of examples");
  auto d = streams[0].copy();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const auto& other = *streams[i].d_;
    if (other.queued)
      fail(Code::failed_precondition, "join examples before shuffle and buffer: stream ", i,
           " has a queue of its own");
    if (i == 0) continue;
    if (other.components.size() != d->components.size())
      fail(Code::invalid_argument, "cannot join: elements of stream ", i, " have ",
           other.components.size(), " components, those of stream 0 ", d->components.size());
    for (std::size_t c = 0; c < other.components.size(); ++c) {
      auto& mine = d->components[c];
      const auto& theirs = other.components[c];
      if (mine.dtype != theirs.dtype || mine.shape.rank() != theirs.shape.rank())
        fail(Code::invalid_argument, "cannot join: component ", c, " of stream ", i, " is ", theirs,
             ", but that of the others ", mine);
      for (int axis = 0; axis < mine.shape.rank(); ++axis)
        if (mine.shape[axis] != theirs.shape[axis]) mine.shape.set(axis, Shape::kUnknown);
    }
    d->branches.insert(d->branches.end(), other.branches.begin(), other.branches.end());
    d->filtered = d->filtered || other.filtered;
  }
  return Examples(std::move(d));
}

// ---- the queue -------------------------------------------------------------------------------

Examples Examples::shuffle(const ShuffleOptions& options) const {
  if (options.capacity < 1 || options.min_after_dequeue < 0 ||
      options.min_after_dequeue >= options.capacity)
    fail(Code::invalid_argument, "a shuffle queue needs 0 <= min_after_dequeue < capacity, but ",
         options.min_after_dequeue, " and ", options.capacity, " were given");
  auto d = copy();
  d->queued = true;
  d->shuffled = true;
  d->queue = options;
  return Examples(std::move(d));
}

Examples Examples::buffer(const BufferOptions& options) const {
  if (options.capacity < 1)
    fail(Code::invalid_argument, "a queue holds 1 element or more, but ", options.capacity,
         " was given");
  auto d = copy();
  d->queued = true;
  d->shuffled = false;
  d->queue = {options.capacity, 0, options.capacity_bytes};
  return Examples(std::move(d));
}

namespace {

void check_rows(std::int64_t rows) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 32;
  if (rows < 1 || rows > kMostRows)
    fail(Code::invalid_argument, "a batch has 1 to ", kMostRows, " rows, but ", rows, " was given");
}

/// Refuses what no memory could hold, whatever the rows are.
void check_bytes(const std::vector<TensorSpec>& components, std::int64_t rows) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 47;  // of an address space
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < components.size(); ++c) {
    const auto& spec = components[c];
    if (!spec.shape.known()) continue;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(spec.shape.volume()), size_of(spec.dtype),
                               &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(rows), &bytes) || bytes > kMost ||
        (sum += bytes) > kMost)
      fail(Code::invalid_argument, "a batch of ", rows, rows == 1 ? " row" : " rows",
           " would have more than 2^47 bytes: component ", c, " of an element is ", spec);
  }
}

/// The first extent that may vary, or the first one of all.
ElementLength first_extent_that_varies(const std::vector<TensorSpec>& components) {
  for (std::size_t c = 0; c < components.size(); ++c)
    for (int axis = 0; axis < components[c].shape.rank(); ++axis)
      if (components[c].shape[axis] == Shape::kUnknown)
        return [c, axis](const Element& element) { return element.at(c).shape()[axis]; };
  fail(Code::invalid_argument,
       "bucket_by_length: all elements have the same shapes: say what their length is "
       "(BucketOptions::length)");
}

}  // namespace

Batches Examples::batch(std::int64_t rows, Remainder remainder) const {
  check_rows(rows);
  check_bytes(d_->components, rows);
  for (std::size_t c = 0; c < d_->components.size(); ++c)
    if (rows > 1 && !d_->components[c].shape.known())
      fail(Code::invalid_argument, "component ", c, " of the elements is ", d_->components[c],
           ": elements whose sizes vary need padded_batch or bucket_by_length");
  return {d_, rows, remainder};
}

void Examples::check_padding(const PadOptions& options) const {
  const auto values = options.values.size();
  if (values != 1 && values != d_->components.size())
    fail(Code::invalid_argument, "elements have ", d_->components.size(), " components, but ",
         values, " values to fill them up with were given (PadOptions::values)");
  if (options.batch_bytes < 1)
    fail(Code::invalid_argument,
         "a padded batch may have 1 byte or more (PadOptions::batch_bytes)");
}

Batches Examples::padded_batch(std::int64_t rows, Remainder remainder,
                               const PadOptions& options) const {
  check_rows(rows);
  check_bytes(d_->components, rows);
  check_padding(options);
  auto d = copy();
  d->padding = {options.values, options.batch_bytes};
  return {std::move(d), rows, remainder};
}

Batches Examples::bucket_by_length(const BucketOptions& options, Remainder remainder) const {
  check_padding(options.padding);
  Buckets buckets{options.boundaries, options.batch_sizes, options.length,
                  remainder == Remainder::keep};
  if (!buckets.length) buckets.length = first_extent_that_varies(d_->components);
  buckets.check();
  const auto most = buckets.most_without_a_batch();
  const auto rows = *std::ranges::max_element(buckets.batch_sizes);
  check_bytes(d_->components, rows);
  auto d = copy();
  if (!d->queued) d->queue.capacity = most + 2 * rows;
  if (d->queue.capacity <= most)
    fail(Code::invalid_argument, "the queue has room for ", d->queue.capacity, " elements, but ",
         most, " may be inside without a full bucket: it needs room for ", most + 1, " or more");
  d->padding = {options.padding.values, options.padding.batch_bytes};
  d->buckets = std::move(buckets);
  return {std::move(d), rows, remainder};
}

}  // namespace troupe
