#include "troupe/ops/memory.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <mutex>
#include <new>

#include "troupe/ops/error.h"

namespace troupe {

/// Free lists by size class. Classes are four to a doubling, so that at most a
/// fifth of a block is unused. Small blocks are cut from 2 MiB chunks; large
/// ones are mapped on their own, aligned for huge pages.
class BlockPool {
 public:
  static BlockPool& instance() {
    static auto* pool = new BlockPool;  // never destroyed: tensors may outlive main
    return *pool;
  }

  Buffer* allocate(std::size_t bytes) {
    const std::size_t wanted = bytes + Buffer::kHeader;
    if (wanted < bytes || wanted > kLargest)
      fail(Code::resource_exhausted, "a tensor of ", bytes,
           " bytes is larger than Troupe can hold");
    const auto index = class_of(wanted);
    auto& list = lists_[index];
    Buffer* block = nullptr;
    {
      const std::lock_guard guard(list.mutex);
      if ((block = list.head)) list.head = block->next_;
    }
    if (block)
      cached_.fetch_sub(class_size(index), std::memory_order_relaxed);
    else
      block = fresh(index);
    new (block) Buffer;
    block->size_class_ = static_cast<std::uint32_t>(index);
    block->size_ = bytes;
    const auto live =
        live_.fetch_add(class_size(index), std::memory_order_relaxed) + class_size(index);
    auto peak = peak_.load(std::memory_order_relaxed);
    while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
    return block;
  }

  void give_back(Buffer* block) {
    const auto index = block->size_class_;
    live_.fetch_sub(class_size(index), std::memory_order_relaxed);
#if defined(__SANITIZE_ADDRESS__)
    ::operator delete (block, std::align_val_t{64});
#else
    cached_.fetch_add(class_size(index), std::memory_order_relaxed);
    auto& list = lists_[index];
    const std::lock_guard guard(list.mutex);
    block->next_ = list.head;
    list.head = block;
#endif
  }

  MemoryUse use() const { return {live_.load(), cached_.load(), peak_.load()}; }

  void trim() {
    for (std::size_t index = class_of(kChunk); index < lists_.size(); ++index) {
      auto& list = lists_[index];
      const std::lock_guard guard(list.mutex);
      while (auto* block = list.head) {
        list.head = block->next_;
        cached_ -= class_size(index);
        munmap(block, mapped_size(index));
      }
    }
  }

 private:
  static constexpr std::size_t kSmallest = 128;
  static constexpr std::size_t kChunk = std::size_t{2} << 20;
  static constexpr std::size_t kLargest = std::size_t{1} << 44;

  struct List {
    std::mutex mutex;
    Buffer* head = nullptr;
    std::byte* cut = nullptr;  // what is left of the chunk that small blocks come from
    std::byte* end = nullptr;
  };

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

  Buffer* fresh(std::size_t index) {
    const auto size = class_size(index);
#if defined(__SANITIZE_ADDRESS__)
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

  static std::byte* map(std::size_t bytes) {
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

  std::array<List, 4 * 38> lists_;
  std::atomic<std::size_t> live_{0};
  std::atomic<std::size_t> cached_{0};
  std::atomic<std::size_t> peak_{0};
};

Buffer* Buffer::allocate(std::size_t bytes) { return BlockPool::instance().allocate(bytes); }

void Buffer::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (destroy_) destroy_(data(), size_);
  BlockPool::instance().give_back(this);
}

MemoryUse memory_use() { return BlockPool::instance().use(); }
void trim_memory() { BlockPool::instance().trim(); }

}  // namespace troupe
