#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/kernel.h"

namespace troupe {

/// An input of int32 or int64 indices, read and checked before a kernel follows
/// them: they come from data, and data may hold anything.
class IndexReader {
 public:
  /// For input `i` of the node, whose values must be in [0, limit).
  IndexReader(const KernelInit& init, int i, std::int64_t limit);

  /// The indices of this run, valid until the next. Throws invalid_argument:
  /// "node 'embed' (gather): index 7 at [1, 0] is outside [0, 5)".
  std::span<const std::int64_t> read(const Run& run);

 private:
  template <class T>
  void copy(const T* from);
  [[noreturn]] void refuse(std::size_t at) const;

  std::string node_;
  int input_;
  DType dtype_;
  Shape shape_;
  std::int64_t limit_;
  std::vector<std::int64_t> values_;
};

/// "node 'embed' (gather)", for errors while running.
std::string described(const Node& node);

}  // namespace troupe
