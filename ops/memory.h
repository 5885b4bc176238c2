#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe {

/// A block of memory that tensors share by counting references. The header
/// stands 64 bytes in front of the data, in the same block, so that making a
/// buffer costs one look into a free list and no malloc.
class Buffer {
 public:
  /// `bytes` of 64-byte aligned memory with undefined content. Blocks are kept
  /// and used again: a page that is touched for the first time costs about ten
  /// microseconds on a virtual machine, which no training step can afford.
  /// Throws resource_exhausted when the system has no memory.
  static Buffer* allocate(std::size_t bytes);

  std::byte* data() { return reinterpret_cast<std::byte*>(this) + kHeader; }
  std::size_t size() const { return size_; }

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release();
  /// True for the only owner, which may then write.
  bool unique() const { return references_.load(std::memory_order_acquire) == 1; }

  /// Called on the data before the block is given back (string tensors).
  void on_release(void (*destroy)(std::byte*, std::size_t)) { destroy_ = destroy; }

  static constexpr std::size_t kHeader = 64;

 private:
  friend class BlockPool;
  Buffer() = default;

  std::atomic<std::uint32_t> references_{1};
  std::uint32_t size_class_ = 0;
  std::size_t size_ = 0;
  void (*destroy_)(std::byte*, std::size_t) = nullptr;
  // In a free list: the next block of its batch, and what the first one of a batch knows.
  Buffer* next_ = nullptr;
  Buffer* next_batch_ = nullptr;
  std::uint32_t batch_count_ = 0;
};

/// Owns one reference to a buffer.
class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(Buffer* adopted) : buffer_(adopted) {}
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) {
    if (buffer_) buffer_->retain();
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_) buffer_->release();
  }

  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

/// What the tensors of this process hold, in bytes: exact while no thread takes or
/// gives back buffers; a thread at work may be off by the few small ones of the moment.
struct MemoryUse {
  std::size_t live = 0;    ///< in buffers that somebody holds
  std::size_t cached = 0;  ///< in free lists, ready for use; some of them a thread's own
  std::size_t peak = 0;    ///< the most that was ever live
};
MemoryUse memory_use();

/// Gives free blocks of 2 MiB and more back to the system.
void trim_memory();

}  // namespace troupe
