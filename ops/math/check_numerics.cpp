#include <atomic>
#include <cstring>
#include <string>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

void same_shape(InferContext& c) {
  c.expect_floating(0);
  c.output(c.input(0));
}

/// Infinity minus itself is NaN, as NaN minus itself is; all else gives 0.
template <class T>
bool is_finite(T x) {
  return x - x == T{0};
}

template <class T>
bool all_finite(const T* x, std::int64_t n) {
  int bad = 0;
  for (std::int64_t i = 0; i < n; ++i) bad |= !is_finite(x[i]);
  return bad == 0;
}

/// Where value i of a tensor is: [2, 0, 7].
Shape position(std::int64_t i, const Shape& shape) {
  auto at = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    at.set(axis, i % shape[axis]);
    i /= shape[axis];
  }
  return at;
}

template <class T>
struct CheckNumerics final : Kernel {
  explicit CheckNumerics(const KernelInit& init)
      : shape(init.inputs[0].shape),
        count(shape.volume()),
        where(text("node '", init.node.name, "' (check_numerics)")),
        message(init.attributes().get_or<std::string>("message", "")) {
    cost = static_cast<double>(count);
  }

  void run(const Run& run) override {
    const auto* x = run.in<T>(0);
    auto* y = run.out<T>();
    std::atomic<bool> finite = true;
    run.intra.parallel_for(count, 1, [&](auto begin, auto end) {
      if (!all_finite(x + begin, end - begin)) finite = false;
      if (y != x)
        std::memcpy(y + begin, x + begin, sizeof(T) * static_cast<std::size_t>(end - begin));
    });
    if (!finite) complain(x);
  }

  [[noreturn]] void complain(const T* x) const {
    std::int64_t i = 0;
    while (is_finite(x[i])) ++i;
    fail(Code::invalid_argument, where, message.empty() ? "" : ": ", message, ": value ",
         position(i, shape), " of ", shape, " is ", x[i]);
  }

  Shape shape;
  std::int64_t count;
  std::string where, message;
};

KernelPtr check_numerics_cpu(const KernelInit& init) {
  return dispatch_floating(init.dtype(), "check_numerics", [&]<class T>() -> KernelPtr {
    return std::make_unique<CheckNumerics<T>>(init);
  });
}

GradientList pass_through(const Backward& b) { return {b.dy()}; }

const OpDef check_numerics_op{.name = "check_numerics",
                              .min_inputs = 1,
                              .max_inputs = 1,
                              .infer = same_shape,
                              .cpu = check_numerics_cpu,
                              .gradient = pass_through,
                              .in_place = true,
                              .stateful = true};

}  // namespace

OpFamily check_ops() { return {&check_numerics_op}; }

Output check_numerics(Output x, const std::string& message) {
  return x.graph().add("check_numerics", {x}, {{"message", message}}).output(0);
}

}  // namespace troupe
