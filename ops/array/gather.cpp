#include <algorithm>

#include "troupe/ops/array.h"
#include "troupe/ops/array/around_axis.h"
#include "troupe/ops/array/families.h"
#include "troupe/ops/array/indices.h"
#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

std::int64_t axis_of(const Attributes& attributes) {
  return attributes.get_or("axis", std::int64_t{0});
}

void expect_indices(const InferContext& c, int i) {
  if (c.dtype(i) != DType::int32 && c.dtype(i) != DType::int64)
    c.fail("the indices are ", c.dtype(i), ", but must be int32 or int64; use cast");
}

Shape gathered(const InferContext& c, const Shape& x, const Shape& indices) {
  if (x.rank() == 0) c.fail("the input is a scalar and has no axis to pick from");
  const int axis = c.axis("axis", axis_of(c.attributes()), x.rank());
  auto extents = x.vector();
  const auto at = extents.erase(extents.begin() + axis);
  extents.insert(at, indices.extents().begin(), indices.extents().end());
  return Shape(extents);
}

void gather_shape(InferContext& c) {
  expect_indices(c, 1);
  c.output(c.dtype(0), gathered(c, c.shape(0), c.shape(1)));
}

KernelPtr gather_cpu(const KernelInit& init) {
  const AroundAxis table(init.inputs[0].shape, axis_of(init.attributes()));
  return dispatch_by_size(init.dtype(), "gather", [&]<class T>() {
    return make_kernel(
        [table, indices = IndexReader(init, 1, table.extent)](const Run& run) mutable {
          const auto picked = indices.read(run);
          const auto count = static_cast<std::int64_t>(picked.size());
          const auto cost = 10 + static_cast<double>(table.inner) * sizeof(T) / 8;
          run.intra.parallel_for(table.outer * count, cost, [&](auto begin, auto end) {
            for (auto row = begin; row < end; ++row) {
              const auto from =
                  row / count * table.extent + picked[static_cast<std::size_t>(row % count)];
              std::copy_n(run.in<T>(0) + from * table.inner, table.inner,
                          run.out<T>() + row * table.inner);
            }
          });
        });
  });
}

/// out [outer, extent, inner] = zeros, plus every entry of rows [outer, count,
/// inner] at its index. Each shard owns a range of the rows of the result, so
/// that repeated indices add up in their order whatever the number of threads.
template <class T>
void add_at(const AroundAxis& table, std::span<const std::int64_t> indices, const T* rows, T* out,
            IntraOp& intra) {
  const auto count = static_cast<std::int64_t>(indices.size());
  const auto total = table.outer * table.extent;
  const auto work = static_cast<double>(table.outer) *
                    (static_cast<double>(count) + static_cast<double>(table.extent)) *
                    static_cast<double>(table.inner);
  intra.parallel_for(total, total > 0 ? work / static_cast<double>(total) : 1,
                     [&](auto begin, auto end) {
                       std::fill(out + begin * table.inner, out + end * table.inner, T{});
                       for (auto o = begin / table.extent; o * table.extent < end; ++o) {
                         const auto low = begin - o * table.extent;
                         const auto high = end - o * table.extent;
                         for (std::int64_t i = 0; i < count; ++i) {
                           const auto index = indices[static_cast<std::size_t>(i)];
                           if (index < low || index >= high) continue;
                           const T* from = rows + (o * count + i) * table.inner;
                           T* to = out + (o * table.extent + index) * table.inner;
                           for (std::int64_t k = 0; k < table.inner; ++k) to[k] += from[k];
                         }
                       }
                     });
}

KernelPtr adding_kernel(const KernelInit& init, std::int64_t axis, int indices, int rows) {
  const AroundAxis table(init.outputs[0].shape, axis);
  return dispatch_floating(init.outputs[0].dtype, init.node.op->name, [&]<class T>() {
    return make_kernel(
        [table, rows, reader = IndexReader(init, indices, table.extent)](const Run& run) mutable {
          add_at(table, reader.read(run), run.in<T>(rows), run.out<T>(), run.intra);
        });
  });
}

void scatter_rows_shape(InferContext& c) {
  const auto& shape = c.attributes().get<Shape>("shape");
  expect_indices(c, 0);
  c.expect_rank(0, 1, "[count]");
  if (shape.rank() == 0 || !shape.known())
    c.fail("shape is ", shape, ", but must be known and have a first axis");
  const auto wanted = shape.without_first().with_first(c.shape(0)[0]);
  if (!compatible(c.shape(1), wanted))
    c.fail("rows have shape ", c.shape(1), ", but ", c.shape(0), " indices into ", shape, " need ",
           wanted);
  c.expect_floating(1);
  c.output(c.dtype(1), shape);
}

KernelPtr scatter_rows_cpu(const KernelInit& init) { return adding_kernel(init, 0, 0, 1); }

GradientList scatter_rows_gradient(const Backward& b) { return {{}, gather(b.dy(), b.x(0))}; }

// The dense gradient of gather. Inputs dy, indices and x.

void gather_grad_shape(InferContext& c) {
  const auto expected = gathered(c, c.shape(2), c.shape(1));
  expect_indices(c, 1);
  c.expect_floating(0);
  if (!compatible(c.shape(0), expected))
    c.fail("the gradient has shape ", c.shape(0), ", but what was gathered has ", expected);
  c.output(c.dtype(0), c.shape(2));
}

KernelPtr gather_grad_cpu(const KernelInit& init) {
  return adding_kernel(init, axis_of(init.attributes()), 1, 0);
}

GradientList gather_gradient(const Backward& b) {
  const auto& x = b.x(0).shape();
  if (x.axis(static_cast<int>(axis_of(b.attributes()))) != 0 || !x.known() || x.volume() == 0)
    return {b.graph().add("gather_grad", {b.dy(), b.x(1), b.x(0)}, b.attributes()).output(0), {}};
  auto indices = b.x(1);
  auto rows = b.dy();
  if (indices.shape().rank() != 1) {
    indices = reshape(indices, {Shape::kUnknown});
    rows = reshape(rows, x.without_first().with_first(Shape::kUnknown));
  }
  return {Gradient::sparse(indices, rows, x), {}};
}

GradientList gather_grad_gradient(const Backward& b) {
  return {b.graph().add("gather", {b.dy(), b.x(1)}, b.attributes()).output(0), {}, {}};
}

const OpDef gather_op{.name = "gather",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .infer = gather_shape,
                      .cpu = gather_cpu,
                      .gradient = gather_gradient};
const OpDef gather_grad_op{.name = "gather_grad",
                           .min_inputs = 3,
                           .max_inputs = 3,
                           .infer = gather_grad_shape,
                           .cpu = gather_grad_cpu,
                           .gradient = gather_grad_gradient,
                           .shape_only = 0b100};
const OpDef scatter_rows_op{.name = "scatter_rows",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .infer = scatter_rows_shape,
                            .cpu = scatter_rows_cpu,
                            .gradient = scatter_rows_gradient};

}  // namespace

OpFamily gather_ops() { return {&gather_op, &gather_grad_op, &scatter_rows_op}; }

Output gather(Output x, Output indices, int axis) {
  return x.graph().add("gather", {x, indices}, {{"axis", axis}}).output(0);
}
Output scatter_rows(Output indices, Output rows, const Shape& shape) {
  return rows.graph().add("scatter_rows", {indices, rows}, {{"shape", shape}}).output(0);
}

}  // namespace troupe
