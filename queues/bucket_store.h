#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "troupe/ops/random.h"
#include "troupe/queues/element_store.h"

namespace troupe {

/// The length of an element, by which it is put into a bucket.
using ElementLength = std::function<std::int64_t(const Element&)>;

struct Buckets {
  /// Ascending. Bucket i takes lengths below boundaries[i], the last one all others.
  std::vector<std::int64_t> boundaries;
  /// Rows of the batches of each bucket: one more than there are boundaries.
  std::vector<std::int64_t> batch_sizes;
  ElementLength length;
  bool keep_remainder = true;  ///< once closed, buckets that are not full give what they have

  /// Elements that all buckets together can hold without one being full: a queue
  /// needs room for one more.
  std::int64_t most_without_a_batch() const;
  /// Throws invalid_argument for boundaries and sizes that make no sense.
  void check() const;
};

/// Elements of like lengths leave together, as many as their bucket says. Buckets
/// give their batches in the order in which they became full; with a seed, a random
/// full bucket gives random ones of its elements.
class BucketStore : public ElementStore {
 public:
  explicit BucketStore(Buckets buckets, std::int64_t floor = 0,
                       std::optional<std::uint64_t> seed = {});

  void check(const Element& element) const override;
  void put(Element element) override;
  Element take() override;
  void put_back(std::vector<Element> taken) override;
  std::int64_t size() const override { return size_; }
  std::int64_t floor() const override { return floor_; }
  bool grouped() const override { return true; }
  std::int64_t next_group(bool closed) override;
  StoreState save() const override;
  void restore(StoreState state) override;
  bool stuck() const override { return full_.empty() || size_ <= floor_; }

 private:
  std::size_t bucket_of(const Element& element) const;

  Buckets buckets_;
  std::int64_t floor_;
  std::optional<RandomStream> random_;
  std::vector<std::deque<Element>> elements_;  // by bucket
  std::deque<std::size_t> full_;               // a bucket for each batch that is complete
  std::int64_t size_ = 0;
  // The batch that is being taken.
  std::size_t bucket_ = 0;
  std::int64_t left_ = 0;
};

}  // namespace troupe
