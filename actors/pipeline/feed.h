#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/messages/payloads.h"
#include "troupe/ops/error.h"
#include "troupe/queues/queue_core.h"

namespace troupe {

struct FeedOptions {
  std::string name = "feed";
  std::int64_t capacity = 256;  ///< elements that wait for the pipeline to take them
  std::uint64_t capacity_bytes = std::uint64_t{64} << 20;  ///< bytes of these elements
};

/// Feeds a pipeline by hand: threads of the user's own push elements, which go the
/// way of all others. Any number of threads may push; copies are the same feed.
///
///   Feed feed({{"x", {DType::float32, {4}}}});
///   Batches batches = feed.examples().buffer(100).batch(10, Remainder::keep);
///   std::thread producer([feed]() mutable { feed.push({x}); ...; feed.close(); });
///
/// Back-pressure: once `capacity` elements wait, and also before the pipeline is
/// started, a push waits. A feed serves one run of one pipeline.
///
/// When the last copy is gone and nobody has said close(), for example because the thread
/// that pushed has thrown, the data end with cancelled behind the elements that were pushed.
/// A feed that was moved from is none: all that it can do is to be assigned to.
class Feed {
 public:
  /// What every element looks like; an extent of -1 may differ from one to the next.
  explicit Feed(std::vector<QueueComponent> components, FeedOptions options = {});

  Examples examples() const;

  /// Returns once the element is accepted. Throws invalid_argument for one that is
  /// not as declared, resource_exhausted for one that is larger than the feed,
  /// deadline_exceeded when there was no room within the time, failed_precondition
  /// after close() or fail(), and cancelled, with the reason, once the pipeline has
  /// ended.
  void push(Element element, Timeout timeout = kForever);
  /// Pushes every row of tensors that have the same first extent. The rows are
  /// copied. When it throws, those before the one that is named are in.
  void push_rows(const TensorList& columns, Timeout timeout = kForever);

  /// No more elements: the data end here. Again, or after fail(), it does nothing.
  void close();
  /// The data end here with a failure, which is what the pipeline's user will see.
  /// What nobody has taken yet is dropped. Does nothing after close().
  void fail(const Error& error);

 private:
  FeedState& state() const;

  std::shared_ptr<FeedState> state_;  // shared by copies only: not by the pipeline
};

}  // namespace troupe
