#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "troupe/ops/graph.h"
#include "troupe/ops/parallel.h"

namespace troupe {

/// What a kernel is made for: one node, with every shape known. A fragment is
/// compiled once per signature, so kernels prepare here (oneDNN primitives,
/// scratch memory, strides) and do nothing but arithmetic when they run.
struct KernelInit {
  const Node& node;
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;
  int threads = 1;  ///< the most shards that Run::intra will run at the same time

  const Attributes& attributes() const { return node.attributes; }
  DType dtype() const { return inputs.empty() ? outputs[0].dtype : inputs[0].dtype; }
};

/// One execution of a kernel: where its inputs and outputs are.
struct Run {
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  IntraOp& intra;
  std::uint64_t seed = 0;  ///< of this step: random ops mix it with the seed of their node

  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(int i = 0) const {
    return static_cast<T*>(outputs[i]);
  }
};

/// A prepared op. run() may throw Error (a label out of range, a value that is
/// not a number); it is called by one thread at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const Run& run) = 0;

  /// About how long run() takes, in CPU cycles; decides what is worth handing
  /// to another thread. 0 lets the compiler guess from the bytes moved.
  double cost = 0;
};
using KernelPtr = std::unique_ptr<Kernel>;

/// A kernel from a callable: make_kernel([n](const Run& run) { ... }).
template <class Fn>
KernelPtr make_kernel(Fn fn, double cost = 0) {
  struct Wrapped final : Kernel {
    explicit Wrapped(Fn f) : fn(std::move(f)) {}
    void run(const Run& run) override { fn(run); }
    Fn fn;
  };
  auto kernel = std::make_unique<Wrapped>(std::move(fn));
  kernel->cost = cost;
  return kernel;
}

}  // namespace troupe
