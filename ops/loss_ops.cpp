#include "troupe/ops/losses.h"

#include <Eigen/Core>
#include <cmath>

#include "troupe/ops/array/indices.h"
#include "troupe/ops/catalog.h"
#include "troupe/ops/dispatch.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/simd/softmax_kernels.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

template <class T>
using Row = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstRow = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

constexpr double kCyclesPerExp = 5;

/// What a softmax divides by, split so that nothing overflows: sum exp(x - max).
template <class T>
struct Normalizer {
  /// Writes the terms to a row, if there is one.
  explicit Normalizer(const ConstRow<T>& x, T* terms = nullptr)
      : sum(TROUPE_PICK(exponentials<T>)(x.data(), x.size(), terms, &max)) {}
  T max;
  T sum;
};

/// Logits seen as a matrix, one row for each distribution.
struct Rows {
  std::int64_t count = 1;
  std::int64_t classes = 0;

  explicit Rows(const Shape& logits) : classes(logits[-1]) {
    for (int axis = 0; axis < logits.rank() - 1; ++axis) count *= logits[axis];
  }
  /// fn(row) for every row, on the threads of the device.
  template <class Fn>
  void each(IntraOp& intra, Fn fn) const {
    const auto cost = 50 + kCyclesPerExp * static_cast<double>(classes);
    intra.parallel_for(count, cost, [&](auto begin, auto end) {
      for (auto row = begin; row < end; ++row) fn(row);
    });
  }
};

Shape without_last(const Shape& shape) { return Shape(shape.extents().first(shape.rank() - 1)); }

void expect_logits(const InferContext& c, int i) {
  c.expect_floating(i);
  if (c.shape(i).rank() == 0) c.fail("the logits are a scalar, but need an axis of classes");
  if (c.shape(i)[-1] == 0) c.fail("the logits have shape ", c.shape(i), ", which has no classes");
}

void expect_labels(const InferContext& c, int logits, int labels) {
  if (c.dtype(labels) != DType::int32 && c.dtype(labels) != DType::int64)
    c.fail("the labels are ", c.dtype(labels),
           ", but must be int32 or int64; use cast, or softmax_cross_entropy for probabilities");
  const auto wanted = without_last(c.shape(logits));
  if (!compatible(c.shape(labels), wanted))
    c.fail("the labels have shape ", c.shape(labels), ", but logits ", c.shape(logits),
           " need one label per row: ", wanted);
}

void expect_same_shape(const InferContext& c, int i, int j) {
  c.expect_same_dtype(i, j);
  if (!compatible(c.shape(i), c.shape(j)))
    c.fail("the logits have shape ", c.shape(i), ", but the labels ", c.shape(j));
}

void expect_loss_gradient(const InferContext& c, int logits) {
  c.expect_same_dtype(0, logits);
  if (!compatible(c.shape(0), without_last(c.shape(logits))))
    c.fail("the gradient has shape ", c.shape(0), ", but logits ", c.shape(logits), " give a loss ",
           without_last(c.shape(logits)));
}

// Labels that are class numbers.

void sparse_shape(InferContext& c) {
  expect_logits(c, 0);
  expect_labels(c, 0, 1);
  c.output(c.dtype(0), without_last(c.shape(0)));
}

/// Labels as the data has them: read where they are used, and checked there.
class Labels {
 public:
  Labels(const KernelInit& init, int input, std::int64_t classes)
      : node_(described(init.node)),
        input_(input),
        wide_(init.inputs[static_cast<std::size_t>(input)].dtype == DType::int64),
        classes_(classes) {}

  std::int64_t at(const Run& run, std::int64_t row) const {
    const auto label =
        wide_ ? run.in<std::int64_t>(input_)[row] : run.in<std::int32_t>(input_)[row];
    if (label < 0 || label >= classes_)
      fail(Code::invalid_argument, node_, ": row ", row, " has label ", label, ", but there are ",
           classes_, " classes: [0, ", classes_, ")");
    return label;
  }

 private:
  std::string node_;
  int input_;
  bool wide_;
  std::int64_t classes_;
};

KernelPtr sparse_cpu(const KernelInit& init) {
  const Rows rows(init.inputs[0].shape);
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([rows, labels = Labels(init, 1, rows.classes)](const Run& run) {
      rows.each(run.intra, [&](std::int64_t row) {
        const ConstRow<T> x(run.in<T>(0) + row * rows.classes, rows.classes);
        const Normalizer<T> norm(x);
        run.out<T>()[row] = std::log(norm.sum) - (x[labels.at(run, row)] - norm.max);
      });
    });
  });
}

// The gradient by the logits: dy * (softmax - one_hot). Inputs dy, logits, labels.

void sparse_grad_shape(InferContext& c) {
  expect_logits(c, 1);
  expect_labels(c, 1, 2);
  expect_loss_gradient(c, 1);
  c.output(c.input(1));
}

KernelPtr sparse_grad_cpu(const KernelInit& init) {
  const Rows rows(init.inputs[1].shape);
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([rows, labels = Labels(init, 2, rows.classes)](const Run& run) {
      rows.each(run.intra, [&](std::int64_t row) {
        const T dy = run.in<T>(0)[row];
        const auto label = labels.at(run, row);
        const ConstRow<T> x(run.in<T>(1) + row * rows.classes, rows.classes);
        Row<T> dx(run.out<T>() + row * rows.classes, rows.classes);
        dx *= dy / Normalizer<T>(x, dx.data()).sum;
        dx[label] -= dy;
      });
    });
  });
}

GradientList sparse_gradient(const Backward& b) {
  auto& node = b.graph().add("sparse_softmax_cross_entropy_grad", {b.dy(), b.x(0), b.x(1)});
  return {node.output(0), {}};
}

// Labels that are probabilities.

void dense_shape(InferContext& c) {
  expect_logits(c, 0);
  expect_same_shape(c, 0, 1);
  auto shape = without_last(c.shape(0));
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == Shape::kUnknown) shape.set(axis, c.shape(1)[axis]);
  c.output(c.dtype(0), shape);
}

KernelPtr dense_cpu(const KernelInit& init) {
  const Rows rows(init.inputs[0].shape);
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([rows](const Run& run) {
      rows.each(run.intra, [&](std::int64_t row) {
        const ConstRow<T> x(run.in<T>(0) + row * rows.classes, rows.classes);
        const ConstRow<T> p(run.in<T>(1) + row * rows.classes, rows.classes);
        const Normalizer<T> norm(x);
        const T log_sum = std::log(norm.sum);
        // A class that cannot be (logit -inf) costs nothing where its label is 0.
        run.out<T>()[row] = (p == T{0}).select(T{0}, p * (log_sum - (x - norm.max))).sum();
      });
    });
  });
}

void dense_grad_shape(InferContext& c) {
  expect_logits(c, 1);
  expect_same_shape(c, 1, 2);
  expect_loss_gradient(c, 1);
  c.output(c.input(1));
}

// By the logits: dy * (softmax * sum(labels) - labels).
KernelPtr dense_grad_cpu(const KernelInit& init) {
  const Rows rows(init.inputs[1].shape);
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([rows](const Run& run) {
      rows.each(run.intra, [&](std::int64_t row) {
        const T dy = run.in<T>(0)[row];
        const ConstRow<T> x(run.in<T>(1) + row * rows.classes, rows.classes);
        const ConstRow<T> p(run.in<T>(2) + row * rows.classes, rows.classes);
        Row<T> dx(run.out<T>() + row * rows.classes, rows.classes);
        const T scale = p.sum() / Normalizer<T>(x, dx.data()).sum;
        dx = dy * (dx * scale - p);
      });
    });
  });
}

// By the labels: -dy * log_softmax. Inputs dy and logits.
void dense_labels_grad_shape(InferContext& c) {
  expect_logits(c, 1);
  expect_loss_gradient(c, 1);
  c.output(c.input(1));
}

KernelPtr dense_labels_grad_cpu(const KernelInit& init) {
  const Rows rows(init.inputs[1].shape);
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([rows](const Run& run) {
      rows.each(run.intra, [&](std::int64_t row) {
        const T dy = run.in<T>(0)[row];
        const ConstRow<T> x(run.in<T>(1) + row * rows.classes, rows.classes);
        const Normalizer<T> norm(x);
        Row<T>(run.out<T>() + row * rows.classes, rows.classes) =
            dy * (std::log(norm.sum) + norm.max - x);
      });
    });
  });
}

GradientList dense_gradient(const Backward& b) {
  auto& graph = b.graph();
  return {graph.add("softmax_cross_entropy_grad", {b.dy(), b.x(0), b.x(1)}).output(0),
          graph.add("softmax_cross_entropy_labels_grad", {b.dy(), b.x(0)}).output(0)};
}

// Sigmoid.

void sigmoid_shape(InferContext& c) {
  c.expect_floating(0);
  expect_same_shape(c, 0, 1);
  auto shape = c.shape(0);
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == Shape::kUnknown) shape.set(axis, c.shape(1)[axis]);
  c.output(c.dtype(0), shape);
}

KernelPtr sigmoid_cpu(const KernelInit& init) {
  const auto count = init.outputs[0].shape.volume();
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([count](const Run& run) {
      run.intra.parallel_for(count, 40, [&](auto begin, auto end) {
        for (auto i = begin; i < end; ++i) {
          const T x = run.in<T>(0)[i];
          const T z = run.in<T>(1)[i];
          // max(x, 0) - x z + log(1 + exp(-|x|)): the exponent is never positive.
          run.out<T>()[i] = (x > 0 ? x : T{0}) - x * z + std::log1p(std::exp(-std::abs(x)));
        }
      });
    });
  });
}

// Inputs dy, logits and labels; by the logits: dy * (sigmoid(x) - z).
void sigmoid_grad_shape(InferContext& c) {
  c.expect_floating(0);
  expect_same_shape(c, 1, 2);
  expect_same_shape(c, 0, 1);
  c.output(c.input(1));
}

KernelPtr sigmoid_grad_cpu(const KernelInit& init) {
  const auto count = init.outputs[0].shape.volume();
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel([count](const Run& run) {
      run.intra.parallel_for(count, 30, [&](auto begin, auto end) {
        for (auto i = begin; i < end; ++i) {
          const T x = run.in<T>(1)[i];
          const T e = std::exp(-std::abs(x));
          const T sigmoid = (x >= 0 ? T{1} : e) / (T{1} + e);
          run.out<T>()[i] = run.in<T>(0)[i] * (sigmoid - run.in<T>(2)[i]);
        }
      });
    });
  });
}

GradientList sigmoid_gradient(const Backward& b) {
  auto& graph = b.graph();
  const auto by_labels = graph.add("mul", {b.dy(), b.x(0)}).output(0);
  return {graph.add("sigmoid_cross_entropy_grad", {b.dy(), b.x(0), b.x(1)}).output(0),
          graph.add("neg", {by_labels}).output(0)};
}

// in_top_k

void in_top_k_shape(InferContext& c) {
  c.expect_floating(0);
  c.expect_rank(0, 2, "[rows, classes]");
  expect_labels(c, 0, 1);
  if (const auto k = c.attributes().get<std::int64_t>("k"); k < 1)
    c.fail("k is ", k, ", but must be 1 or more");
  c.output(DType::boolean, c.shape(1));
}

KernelPtr in_top_k_cpu(const KernelInit& init) {
  const Rows rows(init.inputs[0].shape);
  const auto k = init.attributes().get<std::int64_t>("k");
  const bool wide = init.inputs[1].dtype == DType::int64;
  return dispatch_floating(init.dtype(), "in_top_k", [&]<class T>() {
    return make_kernel([rows, k, wide](const Run& run) {
      rows.each(run.intra, [&](std::int64_t row) {
        const auto target = wide ? run.in<std::int64_t>(1)[row] : run.in<std::int32_t>(1)[row];
        const ConstRow<T> x(run.in<T>(0) + row * rows.classes, rows.classes);
        run.out<bool>()[row] = target >= 0 && target < rows.classes && std::isfinite(x[target]) &&
                               (x > x[target]).count() < k;
      });
    });
  });
}

const OpDef sparse_op{.name = "sparse_softmax_cross_entropy",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .infer = sparse_shape,
                      .cpu = sparse_cpu,
                      .gradient = sparse_gradient};
const OpDef sparse_grad_op{.name = "sparse_softmax_cross_entropy_grad",
                           .min_inputs = 3,
                           .max_inputs = 3,
                           .infer = sparse_grad_shape,
                           .cpu = sparse_grad_cpu,
                           .in_place = true};
const OpDef dense_op{.name = "softmax_cross_entropy",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = dense_shape,
                     .cpu = dense_cpu,
                     .gradient = dense_gradient};
const OpDef dense_grad_op{.name = "softmax_cross_entropy_grad",
                          .min_inputs = 3,
                          .max_inputs = 3,
                          .infer = dense_grad_shape,
                          .cpu = dense_grad_cpu};
const OpDef dense_labels_grad_op{.name = "softmax_cross_entropy_labels_grad",
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .infer = dense_labels_grad_shape,
                                 .cpu = dense_labels_grad_cpu};
const OpDef sigmoid_op{.name = "sigmoid_cross_entropy",
                       .min_inputs = 2,
                       .max_inputs = 2,
                       .infer = sigmoid_shape,
                       .cpu = sigmoid_cpu,
                       .gradient = sigmoid_gradient,
                       .in_place = true};
const OpDef sigmoid_grad_op{.name = "sigmoid_cross_entropy_grad",
                            .min_inputs = 3,
                            .max_inputs = 3,
                            .infer = sigmoid_grad_shape,
                            .cpu = sigmoid_grad_cpu,
                            .in_place = true};
const OpDef in_top_k_op{.name = "in_top_k",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .infer = in_top_k_shape,
                        .cpu = in_top_k_cpu};

}  // namespace

OpFamily loss_ops() {
  return {&sparse_op,  &sparse_grad_op,  &dense_op,   &dense_grad_op, &dense_labels_grad_op,
          &sigmoid_op, &sigmoid_grad_op, &in_top_k_op};
}

Output softmax_cross_entropy(Output logits, Output labels) {
  return logits.graph().add("softmax_cross_entropy", {logits, labels}).output(0);
}
Output sparse_softmax_cross_entropy(Output logits, Output labels) {
  return logits.graph().add("sparse_softmax_cross_entropy", {logits, labels}).output(0);
}
Output sigmoid_cross_entropy(Output logits, Output labels) {
  return logits.graph().add("sigmoid_cross_entropy", {logits, labels}).output(0);
}
Output huber(Output predictions, Output targets, double delta) {
  const auto distance = abs(predictions - targets);
  const auto near = minimum(distance, constant(distance.graph(), delta, distance.dtype()));
  return square(near) * 0.5 + (distance - near) * delta;
}
Output in_top_k(Output predictions, Output targets, std::int64_t k) {
  return predictions.graph().add("in_top_k", {predictions, targets}, {{"k", k}}).output(0);
}

}  // namespace troupe
