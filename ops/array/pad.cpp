#include <algorithm>
#include <cstring>
#include <type_traits>

#include "troupe/ops/array.h"
#include "troupe/ops/array/families.h"
#include "troupe/ops/array/strided_copy.h"
#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

constexpr auto kUnknown = Shape::kUnknown;
using Integers = std::vector<std::int64_t>;

bool reflects(const Attributes& attributes) {
  return attributes.get_or("mode", std::string("constant")) == "reflect";
}

/// The shape of x with its paddings; refuses attributes that do not fit x.
Shape padded(const InferContext& c, Shape x) {
  const auto& paddings = c.attributes().get<Integers>("paddings");
  const auto mode = c.attributes().get_or("mode", std::string("constant"));
  if (mode != "constant" && mode != "reflect")
    c.fail("mode is \"", mode, "\", but must be \"constant\" or \"reflect\"");
  if (paddings.size() != 2 * static_cast<std::size_t>(x.rank()))
    c.fail("paddings has ", paddings.size(), " entries, but the input has shape ", x,
           " and needs two for each axis");
  for (int i = 0; i < x.rank(); ++i) {
    const auto before = paddings[2 * i], after = paddings[2 * i + 1];
    if (before < 0 || after < 0) c.fail("paddings of axis ", i, " are negative; use slice");
    if (x[i] == kUnknown) continue;
    if (mode == "reflect" &&
        (before >= std::max<std::int64_t>(x[i], 1) || after >= std::max<std::int64_t>(x[i], 1)))
      c.fail("axis ", i, " has extent ", x[i], " and cannot be mirrored for paddings of ", before,
             " and ", after);
    std::int64_t extent = 0;
    if (__builtin_add_overflow(before, after, &extent) ||
        __builtin_add_overflow(extent, x[i], &extent))
      c.fail("axis ", i, " would have more values than 63 bits can count");
    x.set(i, extent);
  }
  return x;
}

void pad_shape(InferContext& c) { c.output(c.dtype(0), padded(c, c.shape(0))); }

void pad_grad_shape(InferContext& c) {
  const auto expected = padded(c, c.shape(1));
  c.expect_floating(0);
  if (!compatible(c.shape(0), expected))
    c.fail("the gradient has shape ", c.shape(0), ", but what was padded has ", expected);
  c.output(c.dtype(0), c.shape(1));
}

/// Between a tensor and the middle of its padded form; `grow` goes from the first to the second.
StridedCopy middle(const Attributes& attributes, const Shape& x, const Shape& y, bool grow) {
  const auto& paddings = attributes.get<Integers>("paddings");
  const auto small = strides_of(x), large = strides_of(y);
  std::vector<StridedAxis> axes;
  std::int64_t offset = 0;
  for (int i = 0; i < x.rank(); ++i) {
    axes.push_back({x[i], grow ? small[i] : large[i], grow ? large[i] : small[i]});
    offset += paddings[2 * i] * large[i];
  }
  return StridedCopy(axes, grow ? 0 : offset, grow ? offset : 0);
}

/// Where each value of a padded tensor comes from.
class Mirror {
 public:
  Mirror(const Attributes& attributes, const Shape& x, const Shape& y) {
    const auto& paddings = attributes.get<Integers>("paddings");
    const auto strides = strides_of(x);
    for (int i = 0; i < y.rank(); ++i) {
      Integers sources;
      for (std::int64_t k = 0; k < y[i]; ++k) {
        auto at = std::abs(k - paddings[2 * i]);
        if (at >= x[i]) at = 2 * (x[i] - 1) - at;
        sources.push_back(at * strides[i]);
      }
      axes_.push_back(std::move(sources));
    }
    rows_ = 1;
    for (int i = 0; i < y.rank() - 1; ++i) rows_ *= y[i];
    if (axes_.empty()) axes_.push_back({0});
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t width() const { return static_cast<std::int64_t>(axes_.back().size()); }
  /// The sources of a row are its offset plus those of columns().
  std::int64_t offset(std::int64_t row) const {
    std::int64_t sum = 0;
    for (std::size_t i = axes_.size() - 1; i-- > 0;) {
      const auto extent = static_cast<std::int64_t>(axes_[i].size());
      sum += axes_[i][static_cast<std::size_t>(row % extent)];
      row /= extent;
    }
    return sum;
  }
  const Integers& columns() const { return axes_.back(); }

 private:
  std::vector<Integers> axes_;
  std::int64_t rows_;
};

template <class T>
T padding_value(const KernelInit& init) {
  T value{};
  if constexpr (!std::is_same_v<T, std::string>) {
    const auto scalar = Tensor::filled(init.dtype(), {}, init.attributes().get_or("value", 0.0));
    std::memcpy(&value, scalar.data(), sizeof(T));
  }
  return value;
}

KernelPtr pad_cpu(const KernelInit& init) {
  const auto& x = init.inputs[0].shape;
  const auto& y = init.outputs[0].shape;
  return dispatch_by_size(init.dtype(), "pad", [&]<class T>() {
    if (!reflects(init.attributes()))
      return make_kernel([move = middle(init.attributes(), x, y, true), count = y.volume(),
                          value = padding_value<T>(init)](const Run& run) {
        std::fill_n(run.out<T>(), count, value);
        move.copy(run.in<T>(0), run.out<T>(), run.intra);
      });
    return make_kernel([mirror = Mirror(init.attributes(), x, y)](const Run& run) {
      const auto width = mirror.width();
      run.intra.parallel_for(mirror.rows(), static_cast<double>(width), [&](auto begin, auto end) {
        for (auto row = begin; row < end; ++row) {
          const T* from = run.in<T>(0) + mirror.offset(row);
          T* to = run.out<T>() + row * width;
          for (const auto column : mirror.columns()) *to++ = from[column];
        }
      });
    });
  });
}

KernelPtr pad_grad_cpu(const KernelInit& init) {
  const auto& x = init.outputs[0].shape;
  const auto& y = init.inputs[0].shape;
  if (!reflects(init.attributes()))
    return dispatch_by_size(init.dtype(), "pad_grad", [&]<class T>() {
      return make_kernel([move = middle(init.attributes(), x, y, false)](const Run& run) {
        move.copy(run.in<T>(0), run.out<T>(), run.intra);
      });
    });
  return dispatch_floating(init.dtype(), "pad_grad", [&]<class T>() {
    return make_kernel(
        [mirror = Mirror(init.attributes(), x, y), count = x.volume()](const Run& run) {
          std::fill_n(run.out<T>(), count, T{});
          const T* from = run.in<T>(0);
          for (std::int64_t row = 0; row < mirror.rows(); ++row) {
            T* to = run.out<T>() + mirror.offset(row);
            for (const auto column : mirror.columns()) to[column] += *from++;
          }
        });
  });
}

GradientList pad_gradient(const Backward& b) {
  return {b.graph().add("pad_grad", {b.dy(), b.x()}, b.attributes()).output(0)};
}

GradientList pad_grad_gradient(const Backward& b) {
  auto attributes = b.attributes();
  attributes.set("value", 0.0);
  return {b.graph().add("pad", {b.dy()}, std::move(attributes)).output(0), {}};
}

// tile

Shape tiled(const InferContext& c, Shape x) {
  const auto& multiples = c.attributes().get<Integers>("multiples");
  if (multiples.size() != static_cast<std::size_t>(x.rank()))
    c.fail("multiples has ", multiples.size(), " entries, but the input has shape ", x);
  for (int i = 0; i < x.rank(); ++i) {
    if (multiples[i] < 0) c.fail("axis ", i, " cannot be repeated ", multiples[i], " times");
    std::int64_t extent = kUnknown;
    if (x[i] != kUnknown && __builtin_mul_overflow(x[i], multiples[i], &extent))
      c.fail("axis ", i, " would have more values than 63 bits can count");
    x.set(i, extent);
  }
  return x;
}

void tile_shape(InferContext& c) { c.output(c.dtype(0), tiled(c, c.shape(0))); }

void tile_grad_shape(InferContext& c) {
  const auto expected = tiled(c, c.shape(1));
  c.expect_floating(0);
  if (!compatible(c.shape(0), expected))
    c.fail("the gradient has shape ", c.shape(0), ", but what was tiled has ", expected);
  c.output(c.dtype(0), c.shape(1));
}

/// Between a tensor and its tiled form; `repeat` goes from the first to the second.
StridedCopy tiles(const Attributes& attributes, const Shape& x, const Shape& y, bool repeat) {
  const auto& multiples = attributes.get<Integers>("multiples");
  const auto small = strides_of(x), large = strides_of(y);
  std::vector<StridedAxis> axes;
  for (int i = 0; i < x.rank(); ++i)
    for (const auto& [extent, one, all] :
         {StridedAxis{multiples[i], 0, x[i] * large[i]}, StridedAxis{x[i], small[i], large[i]}})
      axes.push_back({extent, repeat ? one : all, repeat ? all : one});
  return StridedCopy(axes);
}

KernelPtr tile_cpu(const KernelInit& init) {
  const auto move = tiles(init.attributes(), init.inputs[0].shape, init.outputs[0].shape, true);
  return dispatch_by_size(init.dtype(), "tile", [&]<class T>() {
    return make_kernel(
        [move](const Run& run) { move.copy(run.in<T>(0), run.out<T>(), run.intra); });
  });
}

KernelPtr tile_grad_cpu(const KernelInit& init) {
  const auto& x = init.outputs[0].shape;
  const auto move = tiles(init.attributes(), x, init.inputs[0].shape, false);
  return dispatch_floating(init.dtype(), "tile_grad", [&]<class T>() {
    return make_kernel([move, count = x.volume()](const Run& run) {
      std::fill_n(run.out<T>(), count, T{});
      move.add(run.in<T>(0), run.out<T>());
    });
  });
}

GradientList tile_gradient(const Backward& b) {
  return {b.graph().add("tile_grad", {b.dy(), b.x()}, b.attributes()).output(0)};
}
GradientList tile_grad_gradient(const Backward& b) {
  return {b.graph().add("tile", {b.dy()}, b.attributes()).output(0), {}};
}

const OpDef pad_op{.name = "pad",
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .infer = pad_shape,
                   .cpu = pad_cpu,
                   .gradient = pad_gradient};
const OpDef pad_grad_op{.name = "pad_grad",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .infer = pad_grad_shape,
                        .cpu = pad_grad_cpu,
                        .gradient = pad_grad_gradient,
                        .shape_only = 0b10};
const OpDef tile_op{.name = "tile",
                    .min_inputs = 1,
                    .max_inputs = 1,
                    .infer = tile_shape,
                    .cpu = tile_cpu,
                    .gradient = tile_gradient};
const OpDef tile_grad_op{.name = "tile_grad",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .infer = tile_grad_shape,
                         .cpu = tile_grad_cpu,
                         .gradient = tile_grad_gradient,
                         .shape_only = 0b10};

}  // namespace

OpFamily pad_ops() { return {&pad_op, &pad_grad_op, &tile_op, &tile_grad_op}; }

Output pad(Output x, const Integers& paddings, double value) {
  return x.graph().add("pad", {x}, {{"paddings", paddings}, {"value", value}}).output(0);
}
Output pad_reflect(Output x, const Integers& paddings) {
  return x.graph().add("pad", {x}, {{"paddings", paddings}, {"mode", "reflect"}}).output(0);
}
Output tile(Output x, const Integers& multiples) {
  return x.graph().add("tile", {x}, {{"multiples", multiples}}).output(0);
}

}  // namespace troupe
