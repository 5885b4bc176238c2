#include <algorithm>
#include <cstring>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/op.h"
#include "troupe/ops/simd/binary_functions.h"
#include "troupe/ops/simd/elementwise.h"

namespace troupe {
namespace {

void add_n_shape(InferContext& c) {
  auto shape = c.shape(0);
  for (int i = 0; i < c.inputs(); ++i) {
    if (!is_numeric(c.dtype(i))) c.fail("input ", i, " is ", c.dtype(i), ", but must be a number");
    c.expect_same_dtype(0, i);
    if (!compatible(shape, c.shape(i)))
      c.fail("input ", i, " has shape ", c.shape(i), ", but the others have ", shape);
    if (c.shape(i).known()) shape = c.shape(i);
  }
  c.output(c.dtype(0), shape);
}

/// Adds in a small buffer, piece by piece: the output may be one of the inputs
/// and must not change before all have been read.
class AddNKernel final : public Kernel {
 public:
  explicit AddNKernel(const KernelInit& init)
      : terms_(init.inputs.size()),
        count_(init.outputs[0].shape.volume()),
        size_(static_cast<std::int64_t>(size_of(init.dtype()))) {
    dispatch_numeric(init.dtype(), "add_n", [&]<class T>() {
      add_ = std::is_same_v<T, float> ? simd::elementwise().add.rows
                                      : simd::portable::rows<simd::portable::Add, T, T>;
    });
    cost = static_cast<double>(count_) * cycles();
  }

  void run(const Run& run) override {
    run.intra.parallel_for(count_, cycles(), [&](auto begin, auto end) {
      for (; begin < end; begin += kPiece) add(run, begin, std::min(kPiece, end - begin));
    });
  }

 private:
  static constexpr std::int64_t kPiece = 1024;

  double cycles() const { return 0.5 * static_cast<double>(terms_); }

  void add(const Run& run, std::int64_t begin, std::int64_t n) const {
    const auto term = [&](std::size_t i) {
      return static_cast<const std::byte*>(run.inputs[i]) + begin * size_;
    };
    auto* out = static_cast<std::byte*>(run.outputs[0]) + begin * size_;
    if (terms_ == 1) {
      std::memmove(out, term(0), static_cast<std::size_t>(n * size_));
    } else if (terms_ == 2) {
      add_(term(0), term(1), out, n);
    } else {
      alignas(64) std::byte sum[kPiece * sizeof(double)];
      add_(term(0), term(1), sum, n);
      for (std::size_t i = 2; i + 1 < terms_; ++i) add_(sum, term(i), sum, n);
      add_(sum, term(terms_ - 1), out, n);
    }
  }

  std::size_t terms_;
  std::int64_t count_;
  std::int64_t size_;
  simd::BinaryLoop add_ = nullptr;
};

KernelPtr add_n_cpu(const KernelInit& init) { return std::make_unique<AddNKernel>(init); }

GradientList add_n_gradient(const Backward& b) {
  return GradientList(static_cast<std::size_t>(b.inputs()), b.dy());
}

const OpDef add_n_op{.name = "add_n",
                     .min_inputs = 1,
                     .max_inputs = OpDef::kAny,
                     .infer = add_n_shape,
                     .cpu = add_n_cpu,
                     .gradient = add_n_gradient,
                     .in_place = true};

}  // namespace

OpFamily sum_ops() { return {&add_n_op}; }

Output add_n(const OutputList& terms) {
  if (terms.empty()) fail(Code::invalid_argument, "add_n needs at least one term, but got none");
  return terms[0].graph().add("add_n", terms).output(0);
}

}  // namespace troupe
