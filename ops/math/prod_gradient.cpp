#include "troupe/ops/dispatch.h"
#include "troupe/ops/math/reduce_plan.h"
#include "troupe/ops/math/reduced_axes.h"
#include "troupe/ops/math/reduction_families.h"

namespace troupe {
namespace {

/// dx = dy times the product of all values but x. A division of the product by x
/// would fail where x is 0; products of what stands before and behind do not.
template <class T>
class ProdGradKernel final : public Kernel {
 public:
  explicit ProdGradKernel(const KernelInit& init)
      : plan_(init.inputs[0].shape, reduced_axes(init.attributes(), init.inputs[0].shape)),
        rows_(plan_.inner_is_reduced()),
        columns_(rows_ ? 1 : plan_.inner()),
        depth_(rows_ ? plan_.reduced() * plan_.inner() : plan_.reduced()) {
    cost = kCycles * static_cast<double>(init.inputs[0].shape.volume());
  }

  void run(const Run& run) override {
    run.intra.parallel_for(plan_.kept() * columns_, kCycles * static_cast<double>(depth_),
                           [&](auto begin, auto end) {
                             for (auto i = begin; i < end; ++i)
                               fill(run.in<T>(0), run.in<T>(1)[i], i, run.out<T>());
                           });
  }

 private:
  static constexpr double kCycles = 20;  // of one value

  /// Where the k-th value that goes into result i is.
  std::int64_t at(std::int64_t i, std::int64_t k) const {
    const auto first = plan_.kept_offset(i / columns_) + i % columns_;
    return first + (rows_ ? plan_.reduced_offset(k / plan_.inner()) + k % plan_.inner()
                          : plan_.reduced_offset(k));
  }

  void fill(const T* x, T dy, std::int64_t i, T* dx) const {
    double before = static_cast<double>(dy);
    for (std::int64_t k = 0; k < depth_; ++k) {
      dx[at(i, k)] = static_cast<T>(before);
      before *= static_cast<double>(x[at(i, k)]);
    }
    double behind = 1;
    for (auto k = depth_; k-- > 0;) {
      auto& value = dx[at(i, k)];
      value = static_cast<T>(static_cast<double>(value) * behind);
      behind *= static_cast<double>(x[at(i, k)]);
    }
  }

  ReducePlan plan_;
  bool rows_;
  std::int64_t columns_;  // results that lie side by side
  std::int64_t depth_;    // values that go into one result
};

void prod_grad_shape(InferContext& c) { c.output(c.input(0)); }

KernelPtr prod_grad_cpu(const KernelInit& init) {
  return dispatch_floating(init.dtype(), "reduce_prod_grad", [&]<class T>() -> KernelPtr {
    return std::make_unique<ProdGradKernel<T>>(init);
  });
}

const OpDef prod_grad_op{.name = "reduce_prod_grad",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .infer = prod_grad_shape,
                         .cpu = prod_grad_cpu};

}  // namespace

OpFamily prod_gradient_ops() { return {&prod_grad_op}; }

}  // namespace troupe
