#include <algorithm>
#include <numeric>

#include "troupe/ops/array.h"
#include "troupe/ops/array/around_axis.h"
#include "troupe/ops/array/families.h"
#include "troupe/ops/array/strided_copy.h"
#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

constexpr auto kUnknown = Shape::kUnknown;
constexpr std::int64_t kMostParts = 65'536;  // a graph from outside must not ask for billions

std::int64_t sum_of(const InferContext& c, std::int64_t a, std::int64_t b) {
  if (a == kUnknown || b == kUnknown) return kUnknown;
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    c.fail("the extents of the parts add up to more than 63 bits can count");
  return sum;
}

/// Moves all parts into the whole (join) or out of it. The whole is `outer` rows
/// around the axis, and every part owns a range of each: widths[i] values.
KernelPtr move_parts(const KernelInit& init, std::int64_t outer,
                     const std::vector<std::int64_t>& widths, bool join) {
  const auto row = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
  std::vector<StridedCopy> moves;
  std::int64_t offset = 0;
  for (const auto width : widths) {
    const StridedAxis axes[] = {{outer, join ? width : row, join ? row : width}, {width, 1, 1}};
    moves.emplace_back(axes, join ? 0 : offset, join ? offset : 0);
    offset += width;
  }
  return dispatch_by_size(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([moves, join](const Run& run) {
      for (int i = 0; i < static_cast<int>(moves.size()); ++i)
        moves[i].copy(run.in<T>(join ? i : 0), run.out<T>(join ? 0 : i), run.intra);
    });
  });
}

// concat

void concat_shape(InferContext& c) {
  auto whole = c.shape(0);
  if (whole.rank() == 0) c.fail("input 0 is a scalar and has no axis to join along; use stack");
  const int axis = c.axis("axis", whole.rank());
  for (int i = 1; i < c.inputs(); ++i) {
    const auto& part = c.shape(i);
    c.expect_same_dtype(0, i);
    auto rest = part;
    if (part.rank() == whole.rank()) rest.set(axis, whole[axis]);
    if (!compatible(rest, whole))
      c.fail("input ", i, " has shape ", part, ", but input 0 has ", c.shape(0), ", and only axis ",
             axis, " may differ");
    for (int k = 0; k < whole.rank(); ++k)
      if (k != axis && whole[k] == kUnknown) whole.set(k, part[k]);
    whole.set(axis, sum_of(c, whole[axis], part[axis]));
  }
  c.output(c.dtype(0), whole);
}

std::int64_t axis_of(const KernelInit& init) { return init.attributes().get<std::int64_t>("axis"); }

/// Parts that keep the axis: of a width for each extent.
KernelPtr move_ranges(const KernelInit& init, const Shape& whole, std::span<const TensorSpec> parts,
                      bool join) {
  const AroundAxis around(whole, axis_of(init));
  std::vector<std::int64_t> widths;
  for (const auto& part : parts)
    widths.push_back(AroundAxis(part.shape, axis_of(init)).extent * around.inner);
  return move_parts(init, around.outer, widths, join);
}

/// Parts that lack the axis: one for each entry.
KernelPtr move_entries(const KernelInit& init, const Shape& whole, bool join) {
  const AroundAxis around(whole, axis_of(init));
  const std::vector widths(static_cast<std::size_t>(around.extent), around.inner);
  return move_parts(init, around.outer, widths, join);
}

KernelPtr concat_cpu(const KernelInit& init) {
  return move_ranges(init, init.outputs[0].shape, init.inputs, true);
}

GradientList concat_gradient(const Backward& b) {
  const auto axis = static_cast<int>(b.attributes().get<std::int64_t>("axis"));
  std::vector<std::int64_t> sizes;
  OutputList inputs{b.dy()};
  for (int i = 0; i < b.inputs(); ++i) {
    sizes.push_back(b.x(i).shape()[axis]);
    inputs.push_back(b.x(i));
  }
  GradientList dx;
  if (std::ranges::count(sizes, kUnknown) == 0) {
    for (const auto& part : split(b.dy(), sizes, axis)) dx.emplace_back(part);
  } else {
    auto& node = b.graph().add("split_like", inputs, {{"axis", axis}});
    for (int i = 0; i < b.inputs(); ++i) dx.emplace_back(node.output(i));
  }
  return dx;
}

// split

/// The extents of the parts of an axis, from the attribute sizes or num.
std::vector<std::int64_t> part_sizes(const InferContext& c, std::int64_t extent) {
  if (c.attributes().has("num")) {
    const auto num = c.attributes().get<std::int64_t>("num");
    if (num < 1 || num > kMostParts)
      c.fail("num is ", num, ", but there must be 1 to ", kMostParts, " parts");
    if (extent != kUnknown && extent % num != 0)
      c.fail("an axis of extent ", extent, " cannot be cut into ", num, " equal parts");
    return std::vector(static_cast<std::size_t>(num), extent == kUnknown ? kUnknown : extent / num);
  }
  auto sizes = c.attributes().get<std::vector<std::int64_t>>("sizes");
  if (sizes.empty()) c.fail("sizes is empty, but there must be at least 1 part");
  std::int64_t sum = 0;
  for (const auto size : sizes) {
    if (size < kUnknown) c.fail("sizes has ", size, ", but an extent is 0 or more, or once -1");
    if (size != kUnknown) sum = sum_of(c, sum, size);
  }
  const auto open = std::ranges::find(sizes, kUnknown);
  if (std::count(open, sizes.end(), kUnknown) > 1) c.fail("sizes has -1 more than once");
  if (extent == kUnknown) return sizes;
  if (open != sizes.end() && sum <= extent)
    *open = extent - sum;
  else if (open != sizes.end() || sum != extent)
    c.fail("sizes add up to ", sum, ", but the axis has extent ", extent);
  return sizes;
}

void split_shape(InferContext& c) {
  auto part = c.shape(0);
  const int axis = c.axis("axis", part.rank());
  for (const auto size : part_sizes(c, part[axis])) {
    part.set(axis, size);
    c.output(c.dtype(0), part);
  }
}

void split_like_shape(InferContext& c) {
  const auto& whole = c.shape(0);
  const int axis = c.axis("axis", whole.rank());
  std::int64_t sum = 0;
  for (int i = 1; i < c.inputs(); ++i) {
    auto rest = c.shape(i);
    if (rest.rank() == whole.rank()) {
      sum = sum_of(c, sum, rest[axis]);
      rest.set(axis, whole[axis]);
    }
    if (!compatible(rest, whole))
      c.fail("a part has shape ", c.shape(i), ", but the input has ", whole, ", and only axis ",
             axis, " may differ");
    c.output(c.dtype(0), c.shape(i));
  }
  if (sum != kUnknown && whole[axis] != kUnknown && sum != whole[axis])
    c.fail("the parts add up to ", sum, ", but axis ", axis, " of the input has extent ",
           whole[axis]);
}

KernelPtr split_cpu(const KernelInit& init) {
  return move_ranges(init, init.inputs[0].shape, init.outputs, false);
}

OutputList all_dy(const Backward& b, std::size_t count) {
  OutputList dy;
  for (std::size_t i = 0; i < count; ++i) dy.push_back(b.dy(static_cast<int>(i)));
  return dy;
}

GradientList split_gradient(const Backward& b) {
  GradientList dx(b.inputs());
  dx[0] = concat(all_dy(b, b.y().node().outputs.size()),
                 static_cast<int>(b.attributes().get<std::int64_t>("axis")));
  return dx;
}

// stack and unstack

void stack_shape(InferContext& c) {
  auto part = c.shape(0);
  const int axis = c.axis("axis", part.rank() + 1);
  for (int i = 1; i < c.inputs(); ++i) {
    c.expect_same_dtype(0, i);
    if (!compatible(part, c.shape(i)))
      c.fail("input ", i, " has shape ", c.shape(i), ", but input 0 has ", c.shape(0),
             ", and they must be equal");
    for (int k = 0; k < part.rank(); ++k)
      if (part[k] == kUnknown) part.set(k, c.shape(i)[k]);
  }
  auto extents = part.vector();
  extents.insert(extents.begin() + axis, c.inputs());
  c.output(c.dtype(0), Shape(extents));
}

KernelPtr stack_cpu(const KernelInit& init) {
  return move_entries(init, init.outputs[0].shape, true);
}

GradientList stack_gradient(const Backward& b) {
  GradientList dx;
  for (const auto& part :
       unstack(b.dy(), static_cast<int>(b.attributes().get<std::int64_t>("axis"))))
    dx.emplace_back(part);
  return dx;
}

void unstack_shape(InferContext& c) {
  const auto& whole = c.shape(0);
  const int axis = c.axis("axis", whole.rank());
  if (whole[axis] == kUnknown)
    c.fail("axis ", axis, " of the input ", whole,
           " has an unknown extent, but the number of outputs must be known; use slice");
  if (whole[axis] > kMostParts)
    c.fail("axis ", axis, " of the input ", whole, " is cut into more than ", kMostParts,
           " outputs; use slice");
  auto extents = whole.vector();
  extents.erase(extents.begin() + axis);
  for (std::int64_t i = 0; i < whole[axis]; ++i) c.output(c.dtype(0), Shape(extents));
}

KernelPtr unstack_cpu(const KernelInit& init) {
  return move_entries(init, init.inputs[0].shape, false);
}

GradientList unstack_gradient(const Backward& b) {
  return {stack(all_dy(b, b.y().node().outputs.size()),
                static_cast<int>(b.attributes().get<std::int64_t>("axis")))};
}

const OpDef concat_op{.name = "concat",
                      .min_inputs = 1,
                      .max_inputs = OpDef::kAny,
                      .infer = concat_shape,
                      .cpu = concat_cpu,
                      .gradient = concat_gradient};
const OpDef split_op{.name = "split",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .infer = split_shape,
                     .cpu = split_cpu,
                     .gradient = split_gradient};
const OpDef split_like_op{.name = "split_like",
                          .min_inputs = 2,
                          .max_inputs = OpDef::kAny,
                          .infer = split_like_shape,
                          .cpu = split_cpu,
                          .gradient = split_gradient,
                          .shape_only = ~1u};
const OpDef stack_op{.name = "stack",
                     .min_inputs = 1,
                     .max_inputs = OpDef::kAny,
                     .infer = stack_shape,
                     .cpu = stack_cpu,
                     .gradient = stack_gradient};
const OpDef unstack_op{.name = "unstack",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = unstack_shape,
                       .cpu = unstack_cpu,
                       .gradient = unstack_gradient};

OutputList all_outputs(Node& node) {
  OutputList all;
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) all.push_back(node.output(i));
  return all;
}

Output join(std::string_view op, const OutputList& parts, int axis) {
  if (parts.empty()) fail(Code::invalid_argument, op, ": there is nothing to join");
  return parts[0].graph().add(op, parts, {{"axis", axis}}).output(0);
}

}  // namespace

OpFamily join_ops() { return {&concat_op, &split_op, &split_like_op, &stack_op, &unstack_op}; }

Output concat(const OutputList& parts, int axis) { return join("concat", parts, axis); }
Output stack(const OutputList& parts, int axis) { return join("stack", parts, axis); }

OutputList split(Output x, int count, int axis) {
  return all_outputs(x.graph().add("split", {x}, {{"num", count}, {"axis", axis}}));
}
OutputList split(Output x, const std::vector<std::int64_t>& sizes, int axis) {
  return all_outputs(x.graph().add("split", {x}, {{"sizes", sizes}, {"axis", axis}}));
}
OutputList unstack(Output x, int axis) {
  return all_outputs(x.graph().add("unstack", {x}, {{"axis", axis}}));
}

}  // namespace troupe
