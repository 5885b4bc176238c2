#include <algorithm>
#include <cmath>

#include "troupe/ops/array.h"
#include "troupe/ops/array/around_axis.h"
#include "troupe/ops/array/families.h"
#include "troupe/ops/dispatch.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

GradientList none(const Backward& b) { return GradientList(b.inputs()); }

// one_hot

void one_hot_shape(InferContext& c) {
  const auto depth = c.attributes().get<std::int64_t>("depth");
  const auto dtype = c.attributes().get_or("dtype", DType::float32);
  if (!is_integer(c.dtype(0)))
    c.fail("the indices are ", c.dtype(0), ", but must be integers; use cast");
  if (!is_numeric(dtype) && dtype != DType::boolean)
    c.fail("dtype is ", dtype, ", but must be numeric or bool");
  if (depth < 0) c.fail("depth is ", depth, ", but must be 0 or more");
  const auto given = c.attributes().get_or("axis", std::int64_t{-1});
  auto extents = c.shape(0).vector();
  extents.insert(extents.begin() + c.axis("axis", given, c.shape(0).rank() + 1), depth);
  c.output(dtype, Shape(extents));
}

KernelPtr one_hot_cpu(const KernelInit& init) {
  const AroundAxis at(init.outputs[0].shape, init.attributes().get_or("axis", std::int64_t{-1}));
  const auto on = init.attributes().get_or("on_value", 1.0);
  const auto off = init.attributes().get_or("off_value", 0.0);
  return dispatch_numeric(init.dtype(), "one_hot", [&]<class Index>() {
    return dispatch_numeric_or_bool(init.outputs[0].dtype, "one_hot", [&]<class T>() {
      return make_kernel([at, on = static_cast<T>(on), off = static_cast<T>(off)](const Run& run) {
        auto* out = run.out<T>();
        std::fill_n(out, at.outer * at.extent * at.inner, off);
        const auto* index = run.in<Index>(0);
        for (std::int64_t o = 0; o < at.outer; ++o, out += at.extent * at.inner)
          for (std::int64_t i = 0; i < at.inner; ++i) {
            const auto hot = static_cast<std::int64_t>(*index++);
            if (hot >= 0 && hot < at.extent) out[hot * at.inner + i] = on;
          }
      });
    });
  });
}

// cumsum

void cumsum_shape(InferContext& c) {
  if (!is_numeric(c.dtype(0))) c.fail("the input is ", c.dtype(0), ", but must be numeric");
  c.axis("axis", c.shape(0).rank());
  c.output(c.input(0));
}

KernelPtr cumsum_cpu(const KernelInit& init) {
  const AroundAxis at(init.inputs[0].shape, init.attributes().get<std::int64_t>("axis"));
  const bool exclusive = init.attributes().get_or("exclusive", false);
  const bool backwards = init.attributes().get_or("reverse", false);
  return dispatch_numeric(init.dtype(), "cumsum", [&]<class T>() {
    return make_kernel([=](const Run& run) {
      const auto step = backwards ? -at.inner : at.inner;
      const auto first = backwards ? (at.extent - 1) * at.inner : 0;
      if (at.extent == 0) return;
      run.intra.parallel_for(
          at.outer, static_cast<double>(at.extent * at.inner), [&](auto begin, auto end) {
            for (auto o = begin; o < end; ++o) {
              const auto* x = run.in<T>(0) + o * at.extent * at.inner + first;
              auto* y = run.out<T>() + o * at.extent * at.inner + first;
              for (std::int64_t i = 0; i < at.inner; ++i) y[i] = exclusive ? T{} : x[i];
              for (std::int64_t k = 1; k < at.extent; ++k, x += step, y += step) {
                const auto* added = exclusive ? x : x + step;
                for (std::int64_t i = 0; i < at.inner; ++i)
                  y[step + i] = static_cast<T>(y[i] + added[i]);
              }
            }
          });
    });
  });
}

GradientList cumsum_gradient(const Backward& b) {
  auto attributes = b.attributes();
  attributes.set("reverse", !attributes.get_or("reverse", false));
  return {b.graph().add("cumsum", {b.dy()}, std::move(attributes)).output(0)};
}

// shape_of, size_of

void shape_of_shape(InferContext& c) { c.output(DType::int64, {c.shape(0).rank()}); }
void size_of_shape(InferContext& c) { c.output(DType::int64, {}); }

KernelPtr write_numbers(std::vector<std::int64_t> numbers) {
  return make_kernel([numbers = std::move(numbers)](const Run& run) {
    std::ranges::copy(numbers, run.out<std::int64_t>());
  });
}

KernelPtr shape_of_cpu(const KernelInit& init) {
  return write_numbers(init.inputs[0].shape.vector());
}
KernelPtr size_of_cpu(const KernelInit& init) {
  return write_numbers({init.inputs[0].shape.volume()});
}

const OpDef one_hot_op{.name = "one_hot",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = one_hot_shape,
                       .cpu = one_hot_cpu,
                       .gradient = none};
const OpDef cumsum_op{.name = "cumsum",
                      .min_inputs = 1,
                      .max_inputs = 1,
                      .infer = cumsum_shape,
                      .cpu = cumsum_cpu,
                      .gradient = cumsum_gradient};
const OpDef shape_of_op{.name = "shape_of",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .infer = shape_of_shape,
                        .cpu = shape_of_cpu,
                        .gradient = none,
                        .shape_only = 1};
const OpDef size_of_op{.name = "size_of",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = size_of_shape,
                       .cpu = size_of_cpu,
                       .gradient = none,
                       .shape_only = 1};

}  // namespace

OpFamily counting_ops() { return {&one_hot_op, &cumsum_op, &shape_of_op, &size_of_op}; }

Output one_hot(Output indices, std::int64_t depth, const OneHotOptions& options) {
  return indices.graph()
      .add("one_hot", {indices},
           {{"depth", depth},
            {"axis", options.axis},
            {"on_value", options.on},
            {"off_value", options.off},
            {"dtype", options.dtype}})
      .output(0);
}

Output cumsum(Output x, int axis, const CumsumOptions& options) {
  return x.graph()
      .add("cumsum", {x},
           {{"axis", axis}, {"exclusive", options.exclusive}, {"reverse", options.reverse}})
      .output(0);
}

Output shape_of(Output x) { return x.graph().add("shape_of", {x}).output(0); }
Output size_of(Output x) { return x.graph().add("size_of", {x}).output(0); }

Output range(Graph& graph, double begin, double end, double step, DType dtype) {
  const auto count = std::ceil((end - begin) / step);
  if (!std::isfinite(count) || count >= 0x1p40)
    fail(Code::invalid_argument, "range: from ", begin, " to ", end, " by ", step,
         " is not a number of values that fits in memory");
  auto values = Tensor::uninitialized(dtype, {static_cast<std::int64_t>(std::max(count, 0.0))});
  dispatch_numeric(dtype, "range", [&]<class T>() {
    double i = 0;
    for (auto& value : values.write<T>()) value = static_cast<T>(begin + step * i++);
  });
  return constant(graph, std::move(values), "range");
}

}  // namespace troupe
