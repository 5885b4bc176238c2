#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/kernel.h"

namespace troupe {

/// What a shape rule sees, and where it writes its answer.
class InferContext {
 public:
  explicit InferContext(const Node& node, std::span<const TensorSpec> inputs)
      : node_(node), inputs_(inputs) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  int inputs() const { return static_cast<int>(inputs_.size()); }
  const TensorSpec& input(int i) const { return inputs_[i]; }
  const Shape& shape(int i) const { return inputs_[i].shape; }
  DType dtype(int i) const { return inputs_[i].dtype; }

  /// Adds the spec of the next output.
  void output(DType dtype, const Shape& shape) { outputs_.push_back({dtype, shape}); }
  void output(const TensorSpec& spec) { outputs_.push_back(spec); }
  std::vector<TensorSpec> take_outputs() { return std::move(outputs_); }

  /// Throws invalid_argument: "node 'conv1' (conv2d): <parts>".
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    refuse(text(parts...));
  }
  /// Fails unless input i has this many axes; `meaning` names them: "[rows, columns]".
  void expect_rank(int i, int rank, std::string_view meaning) const;
  /// Fails unless input i is float32 or float64.
  void expect_floating(int i) const;
  /// Fails unless inputs i and j have the same dtype.
  void expect_same_dtype(int i, int j) const;
  /// An axis attribute in [0, rank), from one in [-rank, rank).
  int axis(std::string_view attribute, int rank) const;
  /// The same for one of several, from an attribute that lists them.
  int axis(std::string_view attribute, std::int64_t given, int rank) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;

  const Node& node_;
  std::span<const TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
};

/// Everything Troupe knows about one operation.
///
/// An op is defined once, in one file: rule for shapes, CPU kernel, gradient.
/// ops/catalog.cpp lists the families of ops; user code adds its own with
/// register_op().
struct OpDef {
  static constexpr int kAny = -1;

  std::string_view name;
  int min_inputs = 0;
  int max_inputs = 0;  ///< kAny for as many as given

  /// Writes the dtype and shape of every output, or refuses the inputs.
  /// Called when the node is added, with extents that may be unknown, and again
  /// when a fragment is compiled, with all extents known.
  void (*infer)(InferContext&) = nullptr;

  /// Makes the kernel for known shapes. nullptr for ops that never run
  /// (placeholders, variables) and for aliases. Throws unimplemented for a
  /// dtype without a kernel.
  KernelPtr (*cpu)(const KernelInit&) = nullptr;

  /// The gradients of the inputs, written with other ops; nullptr when the op is
  /// not differentiable. One entry per input; an empty one where no gradient flows.
  GradientList (*gradient)(const Backward&) = nullptr;

  bool alias = false;     ///< output 0 is input 0 seen anew (reshape, identity): no kernel
  bool in_place = false;  ///< output 0 may be written over an input of the same size
  bool stateful = false;  ///< has effects or uses randomness: never merged or folded away

  /// Bit i: of input i only the shape matters. The kernel gets no values for it,
  /// so that they may be gone by then: an activation need not live until its gradient.
  std::uint32_t shape_only = 0;
};

/// The outputs of a node from its inputs. Throws invalid_argument naming the
/// node when the op does not take them.
std::vector<TensorSpec> infer_outputs(const Node& node);
/// The same with other specs for the inputs, for instance with all extents known.
std::vector<TensorSpec> infer_outputs(const Node& node, std::span<const TensorSpec> inputs);

}  // namespace troupe
