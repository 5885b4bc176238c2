#include <algorithm>
#include <caf/actor_cast.hpp>
#include <limits>
#include <map>
#include <utility>

#include "troupe/actors/decoders/bad_records.h"
#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/decoders/ordered_merge.h"
#include "troupe/actors/pipeline/description.h"
#include "troupe/actors/pipeline/feed_actor.h"
#include "troupe/actors/pipeline/pipeline_keeper.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/queues/bucket_queue.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/random_shuffle_queue.h"

namespace troupe {
namespace {

using std::uint64_t;

constexpr std::size_t kReadAhead = 2;

/// Decoders attach as soon as they are started. If nobody starts them although they live,
/// whoever wants a batch is told so after this time.
constexpr Timeout kProducerPatience{30'000};
/// For a reader to find its place in the files again, or a queue to take what was inside.
constexpr std::chrono::minutes kPatienceAtStart{10};

/// "3 decoders"
std::string counted(std::int64_t count, const char* what) {
  return text(count, ' ', what, count == 1 ? "" : "s");
}

// ---- memory ------------------------------------------------------------------------------------

/// Bytes, or the largest number there is: what somebody asks for may be absurd.
class Bytes {
 public:
  Bytes(uint64_t bytes) : bytes_(bytes) {}  // NOLINT: a number of bytes
  friend Bytes operator+(Bytes a, Bytes b) {
    return __builtin_add_overflow(a.bytes_, b.bytes_, &a.bytes_) ? most() : a;
  }
  friend Bytes operator*(Bytes a, Bytes b) {
    return __builtin_mul_overflow(a.bytes_, b.bytes_, &a.bytes_) ? most() : a;
  }
  uint64_t count() const { return bytes_; }

 private:
  static Bytes most() { return std::numeric_limits<uint64_t>::max(); }
  uint64_t bytes_;
};

/// What buffers of so many bytes together take of the pool, apart from what each takes
/// at least: up to a quarter more, because it has four sizes to a doubling
/// (ops/memory.cpp).
Bytes pooled(Bytes bytes) { return Bytes(bytes.count() / 4) * 5 + 5; }

/// What each tensor takes at least.
constexpr uint64_t kTensorBytes = 2 * Buffer::kHeader + sizeof(Tensor);

/// What data may take, from their declared sizes.
class Sizes {
 public:
  explicit Sizes(const std::vector<TensorSpec>& components)
      : tensors_(components.size() * kTensorBytes + sizeof(Element)) {
    for (const auto& c : components)
      if (c.shape.known())
        bytes_ = bytes_ + Bytes(static_cast<uint64_t>(c.shape.volume())) * size_of(c.dtype);
  }
  /// Bytes of an element whose shapes are known.
  Bytes bytes() const { return bytes_; }
  Bytes elements(Bytes count) const { return elements(count, count * bytes_); }
  /// The same where only the bytes of all of them together are known.
  Bytes elements(Bytes count, Bytes bytes) const { return pooled(bytes) + count * tensors_; }

 private:
  Bytes bytes_ = 0;
  Bytes tensors_ = 0;  // apart from their values
};

}  // namespace

const std::vector<TensorSpec>& Batches::components() const { return d_->components; }

std::uint64_t MemoryBound::total() const {
  return (Bytes(readers) + decoders + queue + batches).count();
}

MemoryBound Batches::memory(int replicas) const {
  const auto& d = *d_;
  const Sizes sizes(d.components);
  const bool varies = d.varies();
  const auto rows = static_cast<uint64_t>(rows_);
  const auto batch_bytes = d.padding ? Bytes(d.padding->most_bytes) : rows * sizes.bytes();
  Bytes readers = 0;
  Bytes decoded = 0;
  for (const auto& branch : d.branches) {
    if (branch.feed) {
      const auto& feed = branch.feed->options();
      decoded = decoded + sizes.elements(static_cast<uint64_t>(feed.capacity), feed.capacity_bytes);
      continue;
    }
    const auto records = static_cast<uint64_t>(branch.decoding.block_records);
    const auto decoders = static_cast<uint64_t>(d.decoder_count(branch));
    const BlockLimits limits{branch.decoding.block_records, branch.decoding.block_bytes};
    const auto block = pooled(branch.records.block_bytes(limits)) + kTensorBytes +
                       Bytes(2 * sizeof(std::uint32_t)) * records;
    // Ahead, and one being read; two in the hands of each decoder.
    readers = readers + Bytes(kReadAhead + 1 + 2 * decoders) * block +
              pooled(branch.records.held_bytes(limits)) + kTensorBytes;
    decoded =
        decoded + Bytes(decoders) * (varies ? sizes.elements(records, branch.decoding.decoded_bytes)
                                            : sizes.elements(records));
  }
  // Inside, and those that a batch is being made of.
  auto capacity = static_cast<uint64_t>(d.queue.capacity);
  if (!varies && d.capacity_bytes() > 0 && sizes.bytes().count() > 0)
    capacity = std::min(capacity, d.capacity_bytes() / sizes.bytes().count());
  const auto inside = Bytes(capacity) + rows;
  const auto queue =
      varies ? sizes.elements(inside, d.capacity_bytes() + batch_bytes) : sizes.elements(inside);
  // One that is being made; with each replica those that wait, and the one in work.
  const auto batches =
      Bytes(1 + static_cast<uint64_t>(replicas) * static_cast<uint64_t>(prefetch_ + 1)) *
      sizes.elements(1, batch_bytes);
  return {readers.count(), decoded.count(), queue.count(), batches.count()};
}

// ---- words -----------------------------------------------------------------------------------

Batches Batches::in_order() const {
  auto d = std::make_shared<Examples::Description>(*d_);
  d->ordered = true;
  auto ordered = *this;
  ordered.d_ = std::move(d);
  return ordered;
}

Batches Batches::prefetch(std::int64_t batches) const {
  constexpr std::int64_t kMost = 1024;
  if (batches < 1 || batches > kMost)
    fail(Code::invalid_argument, "a replica has 1 to ", kMost, " batches ahead, but ", batches,
         " was given");
  auto changed = *this;
  changed.prefetch_ = batches;
  return changed;
}

std::int64_t Batches::epoch_examples() const {
  std::int64_t sum = 0;
  for (const auto& branch : d_->branches) {
    if (d_->filtered || branch.records.count() == 0) return 0;
    sum += branch.records.count();
  }
  return sum;
}

std::int64_t Batches::total_examples() const {
  std::int64_t sum = 0;
  for (const auto& branch : d_->branches) {
    if (d_->filtered || branch.records.total() == 0) return 0;
    sum += branch.records.total();
  }
  return sum;
}

std::vector<std::string> Batches::warnings() const {
  const auto& d = *d_;
  std::vector<std::string> warnings;
  if (d.shuffled && d.queue.min_after_dequeue < rows_)
    warnings.push_back(
        text("the shuffle queue keeps ", d.queue.min_after_dequeue,
             " elements to choose from (min_after_dequeue), fewer than the ", rows_,
             " rows of a batch: neighbours in the files will be neighbours in the batches"));
  return warnings;
}

std::string Batches::describe() const {
  const auto& d = *d_;
  std::string words;
  for (const auto& branch : d.branches) {
    words += text(words.empty() ? "" : "\n", branch.records.description());
    if (const auto epochs = branch.records.epochs(); epochs != 1)
      words += epochs == 0 ? ", for ever" : text(", ", epochs, " times");
    if (!branch.feed) words += text("\n  -> ", counted(d.decoder_count(branch), "decoder"));
    if (!branch.steps.empty()) words += text(", ", counted(std::ssize(branch.steps), "step"));
    if (d.ordered) words += ", in order";
  }
  words += d.branches.size() > 1 ? "\n  -> " : " -> ";
  if (d.shuffled)
    words += text("shuffle queue of ", d.queue.capacity, ", at least ", d.queue.min_after_dequeue,
                  " to choose from");
  else
    words += text("queue of ", d.queue.capacity);
  if (const auto bytes = d.capacity_bytes()) words += text(", at most ", bytes, " bytes");
  if (d.buckets) {
    words += " -> batches of";
    for (std::size_t i = 0; i < d.buckets->batch_sizes.size(); ++i) {
      words += text(i == 0 ? " " : ", ", d.buckets->batch_sizes[i]);
      if (i < d.buckets->boundaries.size()) words += text(" below ", d.buckets->boundaries[i]);
    }
    words += " and above, padded";
  } else {
    words += text(d.padding ? " -> padded batches of " : " -> batches of ", rows_);
  }
  if (prefetch_ > 1) words += text(", ", prefetch_, " ahead");
  for (const auto& warning : warnings()) words += "\nwarning: " + warning;
  return words;
}

// ---- actors ----------------------------------------------------------------------------------

namespace {

/// An account for each branch that may leave records out; those that name the same file
/// share theirs, with the budgets of all.
std::vector<std::shared_ptr<BadRecords>> bad_records(const std::vector<DecodeOptions>& branches,
                                                     const PipelineSnapshot* from) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::map<std::string, std::shared_ptr<BadRecords>> by_file;
  std::vector<std::shared_ptr<BadRecords>> accounts;
  const auto left_out_before = [&](std::size_t branch) {
    return from ? static_cast<std::int64_t>(from->lanes[branch].left_out) : 0;
  };
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const auto& branch = branches[i];
    auto& account = accounts.emplace_back();
    if (branch.skip_bad_records == 0) continue;
    BadRecordOptions options{branch.skip_bad_records, branch.quarantine};
    options.left_out_before = left_out_before(i);
    if (branch.quarantine.empty()) {
      account = std::make_shared<BadRecords>(options);
      continue;
    }
    auto& shared = by_file[branch.quarantine];
    if (!shared) {
      options.budget = options.left_out_before = 0;
      for (std::size_t j = 0; j < branches.size(); ++j)
        if (branches[j].quarantine == branch.quarantine) {
          options.budget += std::min(branches[j].skip_bad_records, kMost - options.budget);
          options.left_out_before += left_out_before(j);
        }
      shared = std::make_shared<BadRecords>(options);
    }
    account = shared;
  }
  return accounts;
}

/// Why there can be no other readers of these records; empty when there can.
std::string why_one_reader(bool ordered, const Records& records) {
  if (!records.has_source())
    return text(records.description(), " is read by an actor of its own, and by no other");
  if (ordered)
    return text("the order of the records is kept: ", records.description(),
                " is read by one reader. Other decoders do not change it");
  return {};
}

}  // namespace

void Batches::check_fits(const PipelineSnapshot& snapshot) const {
  const auto& branches = d_->branches;
  if (snapshot.lanes.size() != branches.size())
    fail(Code::failed_precondition, "the checkpoint has the data of ", snapshot.lanes.size(),
         " readers and feeds, but now there are ", branches.size());
  for (std::size_t i = 0; i < branches.size(); ++i)
    if (snapshot.lanes[i].description != branches[i].records.description())
      fail(Code::failed_precondition, "the checkpoint stands in the middle of ",
           snapshot.lanes[i].description, ", but now the data are ",
           branches[i].records.description());
}

Batches::Running Batches::spawn(Troupe& troupe, const std::string& prefix, std::uint64_t seed,
                                const PipelineSnapshot* from) const {
  const auto& d = *d_;
  if (from) check_fits(*from);
  std::vector<std::int64_t> lanes;
  std::vector<DecodeOptions> decodings;
  std::int64_t producers = 0;
  for (const auto& branch : d.branches) {
    decodings.push_back(branch.decoding);
    lanes.push_back(d.decoder_count(branch));
    producers += lanes.back();
  }

  QueueOptions queueing;
  queueing.name = prefix + "examples";
  queueing.capacity = d.queue.capacity;
  queueing.capacity_bytes = d.capacity_bytes();
  queueing.producers = d.ordered ? 1 : producers;
  for (const auto& spec : d.components) queueing.components.push_back({"", spec});
  if (d.branches[0].steps.empty()) {  // which may make something else of them
    const auto made = d.branches[0].made();
    for (std::size_t c = 0; c < made.size(); ++c) queueing.components[c].name = made[c].name;
  }
  queueing.padding = d.padding;
  queueing.producer_patience = kProducerPatience;
  queueing.only_when_full = d.ordered && d.shuffled;
  // What is pushed into a feed before it is abandoned is not dropped.
  queueing.keeps_when_cancelled =
      d.ordered && std::ranges::none_of(d.branches, [](const auto& b) { return !!b.feed; });
  queueing.readers = static_cast<std::uint32_t>(d.branches.size());
  const auto floor = d.shuffled ? d.queue.min_after_dequeue : 0;
  Running running;
  SavableQueue queue;
  if (d.buckets)
    queue = troupe.spawn(prefix + "bucket queue", bucket_queue,
                         BucketQueueOptions{queueing, *d.buckets, floor,
                                            d.shuffled ? std::optional(seed) : std::nullopt});
  else if (d.shuffled)
    queue = troupe.spawn(prefix + "shuffle queue", random_shuffle_queue,
                         RandomShuffleQueueOptions{queueing, floor, seed});
  else
    queue = troupe.spawn(prefix + "queue", fifo_queue, queueing);
  running.queue = queue;
  if (from) troupe.ask<caf::ok_atom>(queue, kPatienceAtStart, restore_atom_v, from->queue);
  troupe.observe(running.queue, Role::queue);
  OrderedMerge merge;
  // The turn is that of the lane behind the one whose block came last.
  const auto turn = from && from->queue.enqueued > 0 ? from->queue.last_reader + 1 : 0;
  if (d.ordered)
    merge = troupe.spawn(prefix + "merge", ordered_merge, running.queue, lanes, std::size_t{turn});
  const auto into = d.ordered ? caf::actor_cast<Queue>(merge) : running.queue;

  if (merge)
    troupe.tell(running.queue, expect_atom_v, prefix + "merge", caf::actor_cast<caf::actor>(merge));

  const auto expect = [&troupe, into, merge](const std::string& title, const Decoder& producer,
                                             std::size_t lane) {
    troupe.tell(into, expect_atom_v, title, caf::actor_cast<caf::actor>(producer));
    if (merge)
      troupe.tell(merge, join_atom_v, caf::actor_cast<caf::actor>(producer),
                  static_cast<std::uint32_t>(lane));
  };
  const auto add = [&](const std::string& title, const Decoder& producer, std::size_t lane) {
    running.decoders.emplace_back(title, producer);
    troupe.observe(producer, Role::decoder);
    troupe.link(producer, running.queue);
    expect(title, producer, lane);
  };
  const auto bad = bad_records(decodings, from);
  KeeperOptions keeping;
  std::int64_t number = 0;
  for (std::size_t lane = 0; lane < d.branches.size(); ++lane) {
    const auto& branch = d.branches[lane];
    auto& kept = keeping.lanes.emplace_back();
    kept.description = branch.records.description();
    if (branch.feed) {
      const auto title = prefix + branch.feed->title();
      add(title,
          troupe.spawn(title, feed_actor, branch.feed, into, branch.steps,
                       static_cast<std::uint32_t>(lane)),
          lane);
      kept.fixed = text(title, " is filled by hand, and read by nobody");
      if (from)
        running.notes.push_back(text(
            title,
            " is filled by hand, and cannot go back to where it was: ", from->lanes[lane].elements,
            " of its elements are part of the checkpoint; push those that came after them"));
      continue;
    }
    ReaderOptions reading;
    reading.limits = {branch.decoding.block_records, branch.decoding.block_bytes};
    reading.read_ahead = kReadAhead;
    const auto title = prefix + (d.branches.size() > 1 ? text("reader ", lane) : "reader");
    const auto reader = branch.records.spawn(troupe, title, reading);
    running.readers.emplace_back(title, reader);
    kept.name = title;
    kept.reader = reader;
    kept.positioned = branch.records.has_source();
    if (from && kept.positioned && from->lanes[lane].positioned)
      troupe.ask<caf::ok_atom>(caf::actor_cast<SavableReader>(reader), kPatienceAtStart,
                               restore_atom_v, from->lanes[lane].reading);
    else if (from)
      running.notes.push_back(text(title, " (", branch.records.description(),
                                   ") is an actor that cannot say where it was: it begins again, "
                                   "although ",
                                   from->lanes[lane].elements,
                                   " of its elements are part of the checkpoint"));
    troupe.observe(reader, Role::reader);
    const auto decoded_bytes = d.varies() ? branch.decoding.decoded_bytes : 0;
    const auto new_decoder = [&troupe, &branch = branch, all = d_, into, account = bad[lane],
                              decoded_bytes](const std::string& name, const Reader& of,
                                             std::uint32_t as) {
      return troupe.spawn(
          name, decoder, of, into,
          branch.decoder(account, decoded_bytes, all->shuffled || all->buckets.has_value(), as));
    };
    for (std::int64_t i = 0; i < lanes[lane]; ++i) {
      const auto name = text(prefix, "decoder ", number++);
      const LeavingDecoder spawned = new_decoder(name, reader, static_cast<std::uint32_t>(lane));
      kept.decoders.emplace_back(name, spawned);
      add(name, spawned, lane);
      troupe.link(reader, spawned);
    }
    kept.spawn_decoder = [new_decoder, expect, lane](const std::string& name, const Reader& of,
                                                     std::uint32_t as) {
      const LeavingDecoder spawned = new_decoder(name, of, as);
      expect(name, spawned, lane);
      return spawned;
    };
    kept.fixed = why_one_reader(d.ordered, branch.records);
    kept.open = [records = branch.records] { return records.open(); };
    kept.spawn_reader = [&troupe, reading, open = kept.open](
                            const std::string& name, const caf::actor& dealer, std::uint32_t as) {
      auto options = reading;
      options.dealer = dealer;
      options.number = as;
      return troupe.spawn<caf::detached>(name, record_reader, std::shared_ptr<RecordSource>(open()),
                                         options);
    };
  }
  keeping.queue = queue;
  keeping.prefix = prefix;
  keeping.forget = [&troupe](const caf::actor& member) { troupe.forget(member); };
  running.keeper = troupe.spawn(prefix + "keeper", pipeline_keeper, keeping);
  // Whoever starts decoders and stops them does so with those that come later.
  running.decoders.emplace_back(prefix + "keeper", running.keeper);
  return running;
}

}  // namespace troupe
