#pragma once

#include <dnnl.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/graph.h"

// How kernels use oneDNN. Only .cpp files of this room include this header.

namespace troupe::onednn {

/// While it lives, oneDNN works on the calling thread alone. Debian's oneDNN
/// runs on OpenMP, which would start a team of its own beside the threads of the
/// device. OpenMP keeps the number per thread, and primitives remember the one
/// that they were made under: guard both the making and the running.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;

 private:
  int before_;
};

/// The CPU, for the whole process.
dnnl::engine& engine();

/// [n, c, h, w] in oneDNN's order of axes, stored as NHWC.
dnnl::memory::desc nhwc(dnnl::memory::dim n, dnnl::memory::dim h, dnnl::memory::dim w,
                        dnnl::memory::dim c);

/// A float32 memory that oneDNN chose the layout of, in a tensor's memory (huge
/// pages, counted); zero bytes make an empty one.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(const dnnl::memory::desc& desc);
  const dnnl::memory& memory() const { return memory_; }

 private:
  Tensor bytes_;
  dnnl::memory memory_;
};

/// A primitive and its arguments, ready to run any number of times.
class Step {
 public:
  struct Argument {
    int kind;  ///< DNNL_ARG_...
    dnnl::memory memory;
  };

  Step() = default;
  /// `scratchpad` is what primitive_desc::scratchpad_desc() of a primitive made
  /// with attributes() says.
  Step(dnnl::primitive primitive, std::vector<Argument> arguments,
       const dnnl::memory::desc& scratchpad);

  explicit operator bool() const { return static_cast<bool>(primitive_); }
  /// Throws dnnl::error. Call it under OneThread.
  void run() const;

 private:
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;  // keeps the memories that the C arguments point to
  std::vector<dnnl_exec_arg_t> raw_;
  Scratch scratchpad_;
};

/// Copies one memory into the layout of another.
Step reorder(const dnnl::memory& from, const dnnl::memory& to);

/// Attributes that leave the scratchpad to the caller, so that several threads
/// may run one primitive.
dnnl::primitive_attr attributes();

/// How messages call a node: "node 'conv1' (conv2d)".
std::string label(const Node& node);

/// The Error for what oneDNN threw while it did `what` for a node.
Error error_of(const dnnl::error& error, std::string_view label, std::string_view what);

/// Calls fn under OneThread and turns what oneDNN throws into an Error that names the node.
template <class Fn>
decltype(auto) guarded(std::string_view label, std::string_view what, Fn&& fn) {
  const OneThread one;
  try {
    return fn();
  } catch (const dnnl::error& error) {
    throw error_of(error, label, what);
  }
}

}  // namespace troupe::onednn
