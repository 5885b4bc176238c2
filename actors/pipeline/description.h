#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "troupe/actors/decoders/tuple_decoder.h"
#include "troupe/actors/pipeline/pipeline.h"

namespace troupe {

// What stands behind the values of pipeline.h.

/// One way into the queue: a reader and its decoders, or a feed.
struct Examples::Branch {
  Branch(Records records, std::vector<DecoderFactory> decoders, const DecodeOptions& options);
  explicit Branch(std::shared_ptr<FeedState> feed);

  /// Components before the steps.
  std::vector<QueueComponent> made() const;
  /// A decoder of its own, for one decoder actor.
  std::shared_ptr<TupleDecoder> decoder(const std::shared_ptr<BadRecords>& bad,
                                        std::uint64_t block_bytes, bool own_buffers,
                                        std::uint32_t reader = 0) const;

  Records records;  ///< unless there is a feed
  std::shared_ptr<FeedState> feed;
  std::vector<DecoderFactory> decoders;
  DecodeOptions decoding;
  std::vector<ElementStep> steps;
};

struct Examples::Description {
  std::vector<Branch> branches;
  std::vector<TensorSpec> components;
  bool filtered = false;  ///< how many elements there will be is then not known
  bool queued = false;    ///< the queue has been described
  bool shuffled = false;
  ShuffleOptions queue{1'024, 0, 0};
  bool ordered = false;
  std::optional<ElementPadding> padding;
  std::optional<Buckets> buckets;

  /// Whether the size of an element is not known before.
  bool varies() const;
  /// Bytes of elements that the queue may hold; 0 for no bound of its own.
  std::uint64_t capacity_bytes() const;
  /// Decoder actors of a branch: as many as said, or its share of two per CPU.
  int decoder_count(const Branch& branch) const;
};

}  // namespace troupe
