#include "troupe/queues/bucket_store.h"

#include <algorithm>
#include <utility>

#include "troupe/ops/error.h"

namespace troupe {

std::int64_t Buckets::most_without_a_batch() const {
  std::int64_t sum = 0;
  for (const auto rows : batch_sizes) sum += rows - 1;
  return sum;
}

void Buckets::check() const {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 32;
  if (batch_sizes.size() != boundaries.size() + 1)
    fail(Code::invalid_argument, boundaries.size(), " boundaries make ", boundaries.size() + 1,
         " buckets, but ", batch_sizes.size(), " batch sizes were given");
  if (!std::ranges::is_sorted(boundaries, std::ranges::less_equal{}))
    fail(Code::invalid_argument, "the boundaries of buckets must ascend");
  for (const auto rows : batch_sizes)
    if (rows < 1 || rows > kMostRows)
      fail(Code::invalid_argument, "a batch has 1 to ", kMostRows, " rows, but ", rows,
           " was given for a bucket");
  if (!length) fail(Code::invalid_argument, "buckets need a function for the length of an element");
}

BucketStore::BucketStore(Buckets buckets, std::int64_t floor, std::optional<std::uint64_t> seed)
    : buckets_(std::move(buckets)), floor_(floor) {
  if (seed) random_.emplace(*seed);
  buckets_.check();
  elements_.resize(buckets_.batch_sizes.size());
}

std::size_t BucketStore::bucket_of(const Element& element) const {
  const auto& boundaries = buckets_.boundaries;
  const auto above = std::ranges::upper_bound(boundaries, buckets_.length(element));
  return static_cast<std::size_t>(above - boundaries.begin());
}

void BucketStore::check(const Element& element) const { bucket_of(element); }

void BucketStore::put(Element element) {
  const auto bucket = bucket_of(element);
  auto& inside = elements_[bucket];
  inside.push_back(std::move(element));
  ++size_;
  if (std::ssize(inside) % buckets_.batch_sizes[bucket] == 0) full_.push_back(bucket);
}

std::int64_t BucketStore::next_group(bool closed) {
  if (!full_.empty()) {
    if (random_) std::swap(full_.front(), full_[random_->below(full_.size())]);
    bucket_ = full_.front();
    return left_ = buckets_.batch_sizes[bucket_];
  }
  if (!closed || !buckets_.keep_remainder) return 0;
  const auto some = std::ranges::find_if(elements_, [](const auto& list) { return !list.empty(); });
  if (some == elements_.end()) return 0;
  bucket_ = static_cast<std::size_t>(some - elements_.begin());
  return left_ = std::ssize(*some);
}

Element BucketStore::take() {
  auto& inside = elements_[bucket_];
  if (left_ == buckets_.batch_sizes[bucket_] && !full_.empty()) full_.pop_front();
  --left_;
  --size_;
  if (random_) std::swap(inside.front(), inside[random_->below(inside.size())]);
  auto element = std::move(inside.front());
  inside.pop_front();
  return element;
}

/// Bucket by bucket; the numbers are the random position and the batches that are complete.
StoreState BucketStore::save() const {
  StoreState state;
  for (const auto& bucket : elements_)
    state.elements.insert(state.elements.end(), bucket.begin(), bucket.end());
  state.numbers.push_back(random_ ? static_cast<std::int64_t>(random_->position()) : 0);
  for (const auto bucket : full_) state.numbers.push_back(static_cast<std::int64_t>(bucket));
  return state;
}

void BucketStore::restore(StoreState state) {
  for (auto& element : state.elements) put(std::move(element));
  std::deque<std::size_t> full;
  for (std::size_t i = 1; i < state.numbers.size(); ++i)
    full.push_back(static_cast<std::size_t>(state.numbers[i]));
  if (state.numbers.empty() ||
      !std::is_permutation(full.begin(), full.end(), full_.begin(), full_.end()))
    fail(Code::invalid_argument, "these elements fill ", full_.size(),
         " batches of the buckets, not those that were saved: the boundaries or the sizes of "
         "batches are others");
  full_ = std::move(full);
  if (random_) random_->seek(static_cast<std::uint64_t>(state.numbers[0]));
}

void BucketStore::put_back(std::vector<Element> taken) {
  for (auto& element : taken) put(std::move(element));
}

}  // namespace troupe
