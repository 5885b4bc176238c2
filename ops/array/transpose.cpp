#include "troupe/ops/array.h"
#include "troupe/ops/array/families.h"
#include "troupe/ops/array/strided_copy.h"
#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

/// The axes attribute with its default: all axes in reverse order.
std::vector<std::int64_t> order_of(const Attributes& attributes, int rank) {
  auto axes = attributes.get<std::vector<std::int64_t>>("axes");
  if (axes.empty())
    for (int axis = rank - 1; axis >= 0; --axis) axes.push_back(axis);
  for (auto& axis : axes) axis += axis < 0 ? rank : 0;
  return axes;
}

void transpose_shape(InferContext& c) {
  const auto& x = c.shape(0);
  const auto axes = order_of(c.attributes(), x.rank());
  if (static_cast<int>(axes.size()) != x.rank())
    c.fail("axes lists ", axes.size(), " axes, but the input has shape ", x);
  std::vector<char> used(axes.size(), 0);
  std::vector<std::int64_t> extents;
  for (const auto given : axes) {
    const int axis = c.axis("axes", given, x.rank());
    if (used[axis]++) c.fail("axes names axis ", axis, " twice");
    extents.push_back(x[axis]);
  }
  c.output(c.dtype(0), Shape(extents));
}

KernelPtr transpose_cpu(const KernelInit& init) {
  const auto& x = init.inputs[0].shape;
  const auto& y = init.outputs[0].shape;
  const auto axes = order_of(init.attributes(), x.rank());
  const auto from = strides_of(x);
  const auto to = strides_of(y);
  std::vector<StridedAxis> walk;
  for (int i = 0; i < y.rank(); ++i)
    walk.push_back({y[i], from[static_cast<std::size_t>(axes[i])], to[i]});
  return dispatch_by_size(init.dtype(), "transpose", [&]<class T>() {
    return make_kernel([move = StridedCopy(walk)](const Run& run) {
      move.copy(run.in<T>(0), run.out<T>(), run.intra);
    });
  });
}

GradientList transpose_gradient(const Backward& b) {
  const auto axes = order_of(b.attributes(), b.x().shape().rank());
  std::vector<std::int64_t> back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return {transpose(b.dy(), back)};
}

const OpDef transpose_op{.name = "transpose",
                         .min_inputs = 1,
                         .max_inputs = 1,
                         .infer = transpose_shape,
                         .cpu = transpose_cpu,
                         .gradient = transpose_gradient};

}  // namespace

OpFamily transpose_ops() { return {&transpose_op}; }

Output transpose(Output x, const std::vector<std::int64_t>& axes) {
  return x.graph().add("transpose", {x}, {{"axes", axes}}).output(0);
}

}  // namespace troupe
