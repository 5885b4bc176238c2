#include <algorithm>

#include "troupe/ops/array.h"
#include "troupe/ops/array/families.h"
#include "troupe/ops/array/strided_copy.h"
#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

constexpr auto kUnknown = Shape::kUnknown;
using Integers = std::vector<std::int64_t>;

/// What is taken of one axis: `count` values from `first` on, `stride` apart.
struct Cut {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;  // kUnknown while the extent is not known
};

// The three ops differ only in how their attributes say what to take.

std::vector<Cut> slice_cuts(const InferContext& c, const Shape& x) {
  const auto& begin = c.attributes().get<Integers>("begin");
  const auto& size = c.attributes().get<Integers>("size");
  const auto rank = static_cast<std::size_t>(x.rank());
  if (begin.size() != rank || size.size() != rank)
    c.fail("begin and size have ", begin.size(), " and ", size.size(),
           " entries, but the input has shape ", x);
  std::vector<Cut> cuts(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = x[static_cast<int>(i)];
    const bool to_the_end = size[i] == -1;
    if (begin[i] < 0 || size[i] < -1 ||
        (extent != kUnknown && (begin[i] > extent || (!to_the_end && size[i] > extent - begin[i]))))
      c.fail("axis ", i, " of the input ", x, " has no ",
             to_the_end ? std::string("rest") : text(size[i], " values"), " from ", begin[i],
             " on");
    cuts[i] = {begin[i], 1, size[i]};
    if (to_the_end) cuts[i].count = extent == kUnknown ? kUnknown : extent - begin[i];
  }
  return cuts;
}

std::vector<Cut> strided_slice_cuts(const InferContext& c, const Shape& x) {
  const auto& begin = c.attributes().get<Integers>("begin");
  const auto& end = c.attributes().get<Integers>("end");
  const auto strides = c.attributes().get_or("strides", Integers(begin.size(), 1));
  if (begin.size() != end.size() || begin.size() != strides.size())
    c.fail("begin, end and strides have ", begin.size(), ", ", end.size(), " and ", strides.size(),
           " entries, but must have the same number");
  if (begin.size() > static_cast<std::size_t>(x.rank()))
    c.fail("begin has ", begin.size(), " entries, but the input has shape ", x);
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.rank()); ++i) {
    const auto extent = x[static_cast<int>(i)];
    if (i >= begin.size()) {
      cuts.push_back({0, 1, extent});
      continue;
    }
    const auto stride = strides[i];
    if (stride == 0) c.fail("the stride of axis ", i, " is 0");
    if (extent == kUnknown) {
      cuts.push_back({0, 1, kUnknown});
      continue;
    }
    // Python's rule: a backward slice may begin at the last value and end in front of the first.
    const auto low = stride > 0 ? std::int64_t{0} : std::int64_t{-1};
    const auto high = stride > 0 ? extent : extent - 1;
    const auto clip = [&](std::int64_t index) {
      return std::clamp(index < 0 ? index + extent : index, low, high);
    };
    const auto from = clip(begin[i]);
    const auto to = clip(end[i]);
    // Divided before negating: a stride may be the smallest integer.
    const auto span = to - from;
    const bool none = stride > 0 ? span <= 0 : span >= 0;
    cuts.push_back({from, stride, none ? 0 : (span - (stride > 0 ? 1 : -1)) / stride + 1});
  }
  return cuts;
}

std::vector<Cut> reverse_cuts(const InferContext& c, const Shape& x) {
  std::vector<Cut> cuts;
  for (const auto extent : x.extents()) cuts.push_back({0, 1, extent});
  for (const auto given : c.attributes().get<Integers>("axes")) {
    const int axis = c.axis("axes", given, x.rank());
    auto& cut = cuts[static_cast<std::size_t>(axis)];
    if (cut.stride < 0) c.fail("axes names axis ", axis, " twice");
    cut = {x[axis] - 1, -1, x[axis]};
  }
  return cuts;
}

using CutsOf = std::vector<Cut> (*)(const InferContext&, const Shape&);

Shape taken(const std::vector<Cut>& cuts) {
  Integers counts;
  for (const auto& cut : cuts) counts.push_back(cut.count);
  return Shape(counts);
}

template <CutsOf kCuts>
void cut_shape(InferContext& c) {
  c.output(c.dtype(0), taken(kCuts(c, c.shape(0))));
}

/// Between a tensor and what is taken of it; `take` goes from the first to the second.
StridedCopy cut_copy(const Shape& x, const std::vector<Cut>& cuts, bool take) {
  const auto strides = strides_of(x);
  const auto dense = strides_of(taken(cuts));
  std::vector<StridedAxis> axes;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (cuts[i].count == 0) {
      axes.push_back({0, 0, 0});
      continue;
    }
    // One value needs no stride, and a huge one would overflow.
    const auto step = cuts[i].count == 1 ? 0 : cuts[i].stride * strides[i];
    offset += cuts[i].first * strides[i];
    axes.push_back({cuts[i].count, take ? step : dense[i], take ? dense[i] : step});
  }
  return StridedCopy(axes, take ? offset : 0, take ? 0 : offset);
}

template <CutsOf kCuts>
KernelPtr cut_cpu(const KernelInit& init) {
  const auto& x = init.inputs[0].shape;
  const auto move = cut_copy(x, kCuts(InferContext(init.node, init.inputs), x), true);
  return dispatch_by_size(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel(
        [move](const Run& run) { move.copy(run.in<T>(0), run.out<T>(), run.intra); });
  });
}

// The gradient of a cut: dy where x was taken, zeros elsewhere. Inputs dy and x.

template <CutsOf kCuts>
void cut_grad_shape(InferContext& c) {
  const auto expected = taken(kCuts(c, c.shape(1)));
  c.expect_floating(0);
  if (!compatible(c.shape(0), expected))
    c.fail("the gradient has shape ", c.shape(0), ", but what was taken has ", expected);
  c.output(c.dtype(0), c.shape(1));
}

template <CutsOf kCuts>
KernelPtr cut_grad_cpu(const KernelInit& init) {
  const auto& x = init.inputs[1].shape;
  const auto move = cut_copy(x, kCuts(InferContext(init.node, init.inputs), x), false);
  return dispatch_by_size(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([move, count = x.volume()](const Run& run) {
      std::fill_n(run.out<T>(), count, T{});
      move.copy(run.in<T>(0), run.out<T>(), run.intra);
    });
  });
}

GradientList slice_gradient(const Backward& b) {
  return {b.graph().add("slice_grad", {b.dy(), b.x()}, b.attributes()).output(0)};
}
GradientList strided_slice_gradient(const Backward& b) {
  return {b.graph().add("strided_slice_grad", {b.dy(), b.x()}, b.attributes()).output(0)};
}
GradientList slice_grad_gradient(const Backward& b) {
  return {b.graph().add("slice", {b.dy()}, b.attributes()).output(0), {}};
}
GradientList strided_slice_grad_gradient(const Backward& b) {
  return {b.graph().add("strided_slice", {b.dy()}, b.attributes()).output(0), {}};
}
GradientList reverse_gradient(const Backward& b) {
  return {reverse(b.dy(), b.attributes().get<Integers>("axes"))};
}

const OpDef slice_op{.name = "slice",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .infer = cut_shape<slice_cuts>,
                     .cpu = cut_cpu<slice_cuts>,
                     .gradient = slice_gradient};
const OpDef slice_grad_op{.name = "slice_grad",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .infer = cut_grad_shape<slice_cuts>,
                          .cpu = cut_grad_cpu<slice_cuts>,
                          .gradient = slice_grad_gradient,
                          .shape_only = 0b10};
const OpDef strided_slice_op{.name = "strided_slice",
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .infer = cut_shape<strided_slice_cuts>,
                             .cpu = cut_cpu<strided_slice_cuts>,
                             .gradient = strided_slice_gradient};
const OpDef strided_slice_grad_op{.name = "strided_slice_grad",
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .infer = cut_grad_shape<strided_slice_cuts>,
                                  .cpu = cut_grad_cpu<strided_slice_cuts>,
                                  .gradient = strided_slice_grad_gradient,
                                  .shape_only = 0b10};
const OpDef reverse_op{.name = "reverse",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = cut_shape<reverse_cuts>,
                       .cpu = cut_cpu<reverse_cuts>,
                       .gradient = reverse_gradient};

}  // namespace

OpFamily slice_ops() {
  return {&slice_op, &slice_grad_op, &strided_slice_op, &strided_slice_grad_op, &reverse_op};
}

Output slice(Output x, const Integers& begin, const Integers& size) {
  return x.graph().add("slice", {x}, {{"begin", begin}, {"size", size}}).output(0);
}
Output strided_slice(Output x, const Integers& begin, const Integers& end,
                     const Integers& strides) {
  Attributes attributes{{"begin", begin}, {"end", end}};
  if (!strides.empty()) attributes.set("strides", strides);
  return x.graph().add("strided_slice", {x}, std::move(attributes)).output(0);
}
Output reverse(Output x, const Integers& axes) {
  return x.graph().add("reverse", {x}, {{"axes", axes}}).output(0);
}

}  // namespace troupe
