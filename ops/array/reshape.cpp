#include <algorithm>

#include "troupe/ops/array.h"
#include "troupe/ops/array/families.h"

namespace troupe {
namespace {

constexpr auto kUnknown = Shape::kUnknown;

/// The product of the extents from `first` on; unknown when one of them is, unless another is 0.
std::int64_t volume_from(const Shape& shape, int first) {
  std::int64_t product = 1;
  bool known = true;
  for (int axis = first; axis < shape.rank(); ++axis) {
    if (shape[axis] == kUnknown)
      known = false;
    else if (__builtin_mul_overflow(product, shape[axis], &product))
      fail(Code::invalid_argument, "shape ", shape, " has more values than 63 bits can count");
  }
  return known || product == 0 ? product : kUnknown;
}

void reshape_shape(InferContext& c) {
  auto shape = c.attributes().get<Shape>("shape");
  if (std::ranges::count(shape.extents(), kUnknown) > 1)
    c.fail("shape is ", shape, ", but at most one extent may be -1");
  const auto values = volume_from(c.shape(0), 0);
  if (shape.known()) {
    if (values != kUnknown && values != shape.volume())
      c.fail("the input of shape ", c.shape(0), " has ", values, " values, but shape ", shape,
             " holds ", shape.volume());
  } else if (values != kUnknown) {
    const int open =
        static_cast<int>(std::ranges::find(shape.extents(), kUnknown) - shape.extents().begin());
    shape.set(open, 1);
    const auto rest = shape.volume();
    shape.set(open, kUnknown);
    if (rest == 0) c.fail("shape is ", shape, ": an extent of -1 beside one of 0 is any number");
    if (values % rest != 0)
      c.fail("the input of shape ", c.shape(0), " has ", values,
             " values, which cannot be seen as ", shape);
    shape.set(open, values / rest);
  }
  c.output(c.dtype(0), shape);
}

void reshape_like_shape(InferContext& c) {
  const auto values = volume_from(c.shape(0), 0);
  const auto wanted = volume_from(c.shape(1), 0);
  if (values != kUnknown && wanted != kUnknown && values != wanted)
    c.fail("the input of shape ", c.shape(0), " has ", values, " values, but shape ", c.shape(1),
           " holds ", wanted);
  c.output(c.dtype(0), c.shape(1));
}

void expand_dims_shape(InferContext& c) {
  const int axis = c.axis("axis", c.shape(0).rank() + 1);
  auto extents = c.shape(0).vector();
  extents.insert(extents.begin() + axis, 1);
  c.output(c.dtype(0), Shape(extents));
}

void squeeze_shape(InferContext& c) {
  const auto& shape = c.shape(0);
  std::vector<char> dropped(shape.rank(), 0);
  for (const auto given : c.attributes().get<std::vector<std::int64_t>>("axes")) {
    const int axis = c.axis("axes", given, shape.rank());
    if (shape[axis] != 1 && shape[axis] != kUnknown)
      c.fail("axis ", given, " of the input ", shape, " has extent ", shape[axis],
             ", but only an extent of 1 can be dropped");
    dropped[axis] = 1;
  }
  if (c.attributes().get<std::vector<std::int64_t>>("axes").empty()) {
    if (!shape.known())
      c.fail("the input has shape ", shape,
             ": name the axes to drop, as not all extents are known");
    for (int axis = 0; axis < shape.rank(); ++axis) dropped[axis] = shape[axis] == 1;
  }
  std::vector<std::int64_t> kept;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (!dropped[axis]) kept.push_back(shape[axis]);
  c.output(c.dtype(0), Shape(kept));
}

void flatten_shape(InferContext& c) {
  if (c.shape(0).rank() == 0) c.fail("the input is a scalar and has no first axis to keep");
  c.output(c.dtype(0), {c.shape(0)[0], volume_from(c.shape(0), 1)});
}

GradientList as_input(const Backward& b) {
  GradientList dx(b.inputs());
  dx[0] = reshape_like(b.dy(), b.x());
  return dx;
}

const OpDef reshape_op{.name = "reshape",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = reshape_shape,
                       .gradient = as_input,
                       .alias = true};
const OpDef reshape_like_op{.name = "reshape_like",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .infer = reshape_like_shape,
                            .gradient = as_input,
                            .alias = true,
                            .shape_only = 0b10};
const OpDef expand_dims_op{.name = "expand_dims",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .infer = expand_dims_shape,
                           .gradient = as_input,
                           .alias = true};
const OpDef squeeze_op{.name = "squeeze",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = squeeze_shape,
                       .gradient = as_input,
                       .alias = true};
const OpDef flatten_op{.name = "flatten",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = flatten_shape,
                       .gradient = as_input,
                       .alias = true};

}  // namespace

OpFamily reshape_ops() {
  return {&reshape_op, &reshape_like_op, &expand_dims_op, &squeeze_op, &flatten_op};
}

Output reshape(Output x, const Shape& shape) {
  return x.graph().add("reshape", {x}, {{"shape", shape}}).output(0);
}
Output reshape_like(Output x, Output like) {
  return x.graph().add("reshape_like", {x, like}).output(0);
}
Output expand_dims(Output x, int axis) {
  return x.graph().add("expand_dims", {x}, {{"axis", axis}}).output(0);
}
Output squeeze(Output x, const std::vector<std::int64_t>& axes) {
  return x.graph().add("squeeze", {x}, {{"axes", axes}}).output(0);
}
Output flatten(Output x) { return x.graph().add("flatten", {x}).output(0); }

}  // namespace troupe
