#include "troupe/ops/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/sanitizer.h"

namespace troupe {

/// Free lists by size class. Classes are four to a doubling, so that at most a
/// fifth of a block is unused. Small blocks are cut from 2 MiB chunks; large
/// ones are mapped on their own, aligned for huge pages.
///
/// Each thread keeps free small blocks of its own and exchanges them with the
/// shared lists in batches: elements of a queue are made by one thread and freed
/// by another, and with a lock for each of them that took a quarter of their time.
class BlockPool {
 public:
  static BlockPool& instance() {
    static auto* pool = new BlockPool;  // never destroyed: tensors may outlive main
    return *pool;
  }

  Buffer* allocate(std::size_t bytes);
  void give_back(Buffer* block);
  MemoryUse use();
  void trim();

 private:
  static constexpr std::size_t kSmallest = 128;
  static constexpr std::size_t kChunk = std::size_t{2} << 20;
  static constexpr std::size_t kLargest = std::size_t{1} << 44;
  static constexpr std::size_t kSmallClasses = 33;  // to 32 KiB: those that threads keep
  static constexpr std::size_t kBatchBytes = std::size_t{64} << 10;

  /// Free blocks of one class, linked to each other.
  struct Batch {
    Buffer* head = nullptr;
    std::uint32_t count = 0;

    void push(Buffer* block) {
      block->next_ = head;
      head = block;
      ++count;
    }
    Buffer* pop() {
      --count;
      return std::exchange(head, head->next_);
    }
  };

  /// Batches of one class: the first block of each holds the rest of the list.
  struct List {
    std::mutex mutex;
    Buffer* batches = nullptr;
    std::byte* cut = nullptr;  // what is left of the chunk that small blocks come from
    std::byte* end = nullptr;
  };

  class ThreadCache;

  // Class 4 * k + q holds blocks of (4 + q) / 4 * 2^k * kSmallest bytes.
  static std::size_t class_of(std::size_t bytes) {
    if (bytes <= kSmallest) return 0;
    const auto doubling = std::bit_width((bytes - 1) / kSmallest) - 1;
    const auto base = kSmallest << doubling;
    const auto quarter = (bytes - base + base / 4 - 1) / (base / 4);
    return static_cast<std::size_t>(doubling) * 4 + quarter;
  }
  static std::size_t class_size(std::size_t index) {
    return (kSmallest << (index / 4)) / 4 * (4 + index % 4);
  }
  static std::size_t mapped_size(std::size_t index) {
    return (class_size(index) + kChunk - 1) / kChunk * kChunk;
  }

  Batch take_batch(std::size_t index);
  void give_batch(std::size_t index, Batch batch);
  void count_live(std::int64_t bytes);

  Buffer* fresh(std::size_t index);
  static std::byte* map(std::size_t bytes);

  std::array<List, 4 * 38> lists_;
  std::atomic<std::int64_t> live_{0};  // but for what the threads have not reported
  std::atomic<std::int64_t> peak_{0};
  std::atomic<std::int64_t> mapped_{0};  // live or free
  std::mutex threads_mutex_;
  std::vector<const ThreadCache*> threads_;
};

/// What one thread keeps: of each small class a batch to work with and a spare
/// one, so that a thread that takes and gives in turn stays away from the shared
/// lists (the magazines of Bonwick and Adams, USENIX 2001).
class BlockPool::ThreadCache {
 public:
  ThreadCache() {
    const std::lock_guard guard(instance().threads_mutex_);
    instance().threads_.push_back(this);
  }
  ThreadCache(const ThreadCache&) = delete;
  ThreadCache& operator=(const ThreadCache&) = delete;
  ~ThreadCache() {
    mine_ = nullptr;
    ended_ = true;
    for (std::size_t index = 0; index < kSmallClasses; ++index)
      for (const auto& batch : {classes_[index].work, classes_[index].spare})
        if (batch.count > 0) instance().give_batch(index, batch);
    const std::lock_guard guard(instance().threads_mutex_);
    report_live();
    std::erase(instance().threads_, this);
  }

  /// This thread's; nullptr when the thread is ending.
  static ThreadCache* mine() { return mine_ ? mine_ : make(); }

  /// nullptr when the shared lists have no block either.
  Buffer* take(std::size_t index) {
    auto& [work, spare] = classes_[index];
    if (work.count == 0) {
      std::swap(work, spare);
      if (work.count == 0) {
        report_live();
        work = instance().take_batch(index);
      }
      if (work.count == 0) return nullptr;
    }
    return work.pop();
  }

  void give(std::size_t index, Buffer* block) {
    auto& [work, spare] = classes_[index];
    if (work.count >= std::min<std::size_t>(32, kBatchBytes / class_size(index))) {
      if (spare.count > 0) {
        report_live();
        instance().give_batch(index, spare);
      }
      spare = std::exchange(work, Batch{});
    }
    work.push(block);
  }

  void count_live(std::int64_t bytes) {
    unreported_.store(unreported() + bytes, std::memory_order_relaxed);
  }
  std::int64_t unreported() const { return unreported_.load(std::memory_order_relaxed); }

 private:
  struct Class {
    Batch work;
    Batch spare;
  };

  static ThreadCache* make() {
    if (ended_) return nullptr;
    static thread_local ThreadCache cache;
    return mine_ = &cache;
  }

  void report_live() { instance().count_live(unreported_.exchange(0, std::memory_order_relaxed)); }

  static thread_local ThreadCache* mine_;
  static thread_local bool ended_;

  std::array<Class, kSmallClasses> classes_;
  std::atomic<std::int64_t> unreported_{0};  // written by its thread only
};

thread_local BlockPool::ThreadCache* BlockPool::ThreadCache::mine_ = nullptr;
thread_local bool BlockPool::ThreadCache::ended_ = false;

Buffer* BlockPool::allocate(std::size_t bytes) {
  const std::size_t wanted = bytes + Buffer::kHeader;
  if (wanted < bytes || wanted > kLargest)
    fail(Code::resource_exhausted, "a tensor of ", bytes, " bytes is larger than Troupe can hold");
  const auto index = class_of(wanted);
  auto* cache = index < kSmallClasses ? ThreadCache::mine() : nullptr;
  Buffer* block = nullptr;
  if (cache) {
    block = cache->take(index);
  } else if (auto batch = take_batch(index); batch.count > 0) {
    block = batch.pop();
    if (batch.count > 0) give_batch(index, batch);
  }
  const auto size = static_cast<std::int64_t>(class_size(index));
  if (!block) {
    block = fresh(index);
    mapped_.fetch_add(size, std::memory_order_relaxed);
  }
  new (block) Buffer;
  block->size_class_ = static_cast<std::uint32_t>(index);
  block->size_ = bytes;
  cache ? cache->count_live(size) : count_live(size);
  return block;
}

void BlockPool::give_back(Buffer* block) {
  const auto index = block->size_class_;
  const auto size = static_cast<std::int64_t>(class_size(index));
  auto* cache = index < kSmallClasses ? ThreadCache::mine() : nullptr;
  cache ? cache->count_live(-size) : count_live(-size);
#if defined(TROUPE_CHECKS_ADDRESSES)  // a use after the end must be seen
  mapped_.fetch_sub(size, std::memory_order_relaxed);
  ::operator delete (block, std::align_val_t{64});
#else
  if (cache) return cache->give(index, block);
  Batch alone;
  alone.push(block);
  give_batch(index, alone);
#endif
}

BlockPool::Batch BlockPool::take_batch(std::size_t index) {
  auto& list = lists_[index];
  const std::lock_guard guard(list.mutex);
  auto* head = list.batches;
  if (!head) return {};
  list.batches = head->next_batch_;
  return {head, head->batch_count_};
}

void BlockPool::give_batch(std::size_t index, Batch batch) {
  auto& list = lists_[index];
  batch.head->batch_count_ = batch.count;
  const std::lock_guard guard(list.mutex);
  batch.head->next_batch_ = list.batches;
  list.batches = batch.head;
}

void BlockPool::count_live(std::int64_t bytes) {
  const auto live = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  auto peak = peak_.load(std::memory_order_relaxed);
  while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

MemoryUse BlockPool::use() {
  const std::lock_guard guard(threads_mutex_);
  std::int64_t live = live_.load();
  for (const auto* thread : threads_) live += thread->unreported();
  live = std::max<std::int64_t>(live, 0);
  const auto mapped = std::max(mapped_.load(), live);
  return {static_cast<std::size_t>(live), static_cast<std::size_t>(mapped - live),
          static_cast<std::size_t>(std::max(peak_.load(), live))};
}

void BlockPool::trim() {
  for (std::size_t index = class_of(kChunk); index < lists_.size(); ++index)
    for (auto batch = take_batch(index); batch.count > 0; batch = take_batch(index)) {
      mapped_.fetch_sub(static_cast<std::int64_t>(class_size(index)));
      munmap(batch.head, mapped_size(index));
    }
}

Buffer* BlockPool::fresh(std::size_t index) {
  const auto size = class_size(index);
#if defined(TROUPE_CHECKS_ADDRESSES)  // a use after the end must be seen
  return static_cast<Buffer*>(::operator new (size, std::align_val_t{64}));
#else
  if (size >= kChunk) return reinterpret_cast<Buffer*>(map(mapped_size(index)));
  auto& list = lists_[index];
  const std::lock_guard guard(list.mutex);
  const auto step = (size + 63) / 64 * 64;
  if (list.cut == nullptr || static_cast<std::size_t>(list.end - list.cut) < step) {
    // Tiny classes start with little, so that a small program stays small.
    const auto chunk = size <= 4096 ? std::size_t{64} << 10 : kChunk;
    list.cut = map(chunk);
    list.end = list.cut + chunk;
  }
  return reinterpret_cast<Buffer*>(std::exchange(list.cut, list.cut + step));
#endif
}

std::byte* BlockPool::map(std::size_t bytes) {
  const auto alignment = bytes >= kChunk ? kChunk : std::size_t{4096};
  auto* raw = mmap(nullptr, bytes + alignment, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    fail(Code::resource_exhausted, "the system has no ", bytes, " bytes of memory left");
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const auto aligned = (address + alignment - 1) / alignment * alignment;
  if (aligned > address) munmap(raw, aligned - address);
  const auto rest = address + alignment - aligned;
  if (rest > 0) munmap(reinterpret_cast<void*>(aligned + bytes), rest);
  if (bytes >= kChunk) madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<std::byte*>(aligned);
}

Buffer* Buffer::allocate(std::size_t bytes) { return BlockPool::instance().allocate(bytes); }

void Buffer::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (destroy_) destroy_(data(), size_);
  BlockPool::instance().give_back(this);
}

MemoryUse memory_use() { return BlockPool::instance().use(); }
void trim_memory() { BlockPool::instance().trim(); }

}  // namespace troupe
