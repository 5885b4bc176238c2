#include <Eigen/Core>
#include <algorithm>
#include <bit>

#include "troupe/ops/autocast.h"
#include "troupe/ops/catalog.h"
#include "troupe/ops/dispatch.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/onednn.h"

namespace troupe {
namespace {

bool transposes(const Attributes& attributes, std::string_view name) {
  return attributes.get_or(name, false);
}

/// The sizes of one product: [m, k] times [k, n], `batch` times.
struct Product {
  Product(const Attributes& attributes, const Shape& a, const Shape& b)
      : transpose_a(transposes(attributes, "transpose_a")),
        transpose_b(transposes(attributes, "transpose_b")),
        m(a[transpose_a ? -1 : -2]),
        n(b[transpose_b ? -2 : -1]),
        k(a[transpose_a ? -2 : -1]) {
    for (int axis = 0; axis < a.rank() - 2; ++axis) batch *= a[axis];
  }

  bool transpose_a;
  bool transpose_b;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t batch = 1;

  // About 16 multiply-adds a cycle.
  double cycles() const {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 16;
  }
};

void matmul_shape(InferContext& c) {
  c.expect_floating(0);
  c.expect_same_dtype(0, 1);
  const auto& a = c.shape(0);
  const auto& b = c.shape(1);
  if (a.rank() < 2 || a.rank() != b.rank())
    c.fail("a has shape ", a, " and b ", b,
           ", but both need the same number of axes, at least two: [..., rows, columns]");
  const Product p(c.attributes(), a, b);
  const auto rows_of_b = b[p.transpose_b ? -1 : -2];
  if (p.k != rows_of_b && p.k != Shape::kUnknown && rows_of_b != Shape::kUnknown)
    c.fail("cannot multiply a of shape ", a, p.transpose_a ? " (transposed)" : "",
           " by b of shape ", b, p.transpose_b ? " (transposed)" : "", ": a has ", p.k,
           " columns, but b has ", rows_of_b, " rows");
  auto out = a;
  for (int axis = 0; axis < a.rank() - 2; ++axis) {
    if (a[axis] != b[axis] && a[axis] != Shape::kUnknown && b[axis] != Shape::kUnknown)
      c.fail("a has shape ", a, " and b ", b, ", but the axes in front of the last two must agree");
    out.set(axis, std::max(a[axis], b[axis]));
  }
  out.set(-2, p.m);
  out.set(-1, p.n);
  c.output(c.dtype(0), out);
}

void fused_matmul_shape(InferContext& c) {
  matmul_shape(c);
  c.expect_same_dtype(0, 2);
  const Product p(c.attributes(), c.shape(0), c.shape(1));
  if (!compatible(c.shape(2), {p.n}))
    c.fail("the bias has shape ", c.shape(2), ", but needs one value per column: ", Shape{p.n});
  const auto& activation = c.attributes().get<std::string>("activation");
  if (activation != "none" && activation != "relu")
    c.fail("activation is '", activation, "', but must be 'none' or 'relu'");
}

/// A part of the output that one thread computes.
struct Block {
  std::int64_t row, rows, column, columns;
};

/// Below this many multiply-adds plain loops are faster than the call of a library.
constexpr std::int64_t kTiny = 512;

template <class T>
void tiny_product(const Product& p, const T* a, const T* b, T* c) {
  const auto row = p.transpose_a ? 1 : p.k;
  const auto step = p.transpose_a ? p.m : 1;
  for (std::int64_t i = 0; i < p.m; ++i) {
    const auto* x = a + i * row;
    auto* y = c + i * p.n;
    if (p.transpose_b) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        T sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l) sum += x[l * step] * b[j * p.k + l];
        y[j] = sum;
      }
    } else {
      std::fill_n(y, p.n, T{0});
      for (std::int64_t l = 0; l < p.k; ++l) {
        const T factor = x[l * step];
        const auto* z = b + l * p.n;
        for (std::int64_t j = 0; j < p.n; ++j) y[j] += factor * z[j];
      }
    }
  }
}

void library_product(const Product& p, const Block& part, const float* a, const float* b,
                     float* c) {
  const auto lda = p.transpose_a ? p.m : p.k;
  const auto ldb = p.transpose_b ? p.k : p.n;
  const auto* first_row = a + part.row * (p.transpose_a ? 1 : lda);
  const auto* first_column = b + part.column * (p.transpose_b ? ldb : 1);
  const auto status =
      dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', part.rows, part.columns, p.k,
                 1, first_row, lda, first_column, ldb, 0, c + part.row * p.n + part.column, p.n);
  dnnl::error::wrap_c_api(status, "sgemm");
}

void library_product(const Product& p, const Block& part, const double* a, const double* b,
                     double* c) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using View = Eigen::Map<const Matrix>;
  const View left(a, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k);
  const View right(b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n);
  Eigen::Map<Matrix> whole(c, p.m, p.n);
  auto out = whole.block(part.row, part.column, part.rows, part.columns);
  const auto rows = [&] { return left.middleRows(part.row, part.rows); };
  const auto rows_t = [&] { return left.middleCols(part.row, part.rows).transpose(); };
  const auto columns = [&] { return right.middleCols(part.column, part.columns); };
  const auto columns_t = [&] { return right.middleRows(part.column, part.columns).transpose(); };
  if (p.transpose_a)
    p.transpose_b ? out.noalias() = rows_t() * columns_t() : out.noalias() = rows_t() * columns();
  else
    p.transpose_b ? out.noalias() = rows() * columns_t() : out.noalias() = rows() * columns();
}

/// What is done to a part of the product while it is still in the cache.
struct Epilogue {
  bool bias = false;
  bool relu = false;

  template <class T>
  void apply(const Product& p, const Block& part, const T* values, T* c) const {
    if (!bias) return;
    for (std::int64_t i = part.row; i < part.row + part.rows; ++i) {
      auto* y = c + i * p.n;
      for (std::int64_t j = part.column; j < part.column + part.columns; ++j) {
        const T sum = y[j] + values[j];
        y[j] = relu && sum < 0 ? T{0} : sum;
      }
    }
  }
};

template <class T>
class MatmulKernel final : public Kernel {
 public:
  MatmulKernel(const KernelInit& init, const Product& product, const Epilogue& epilogue)
      : label_(onednn::label(init.node)), product_(product), epilogue_(epilogue) {
    cost = product.cycles() * static_cast<double>(product.batch) + 200;
    if (product.batch == 1) split(init.threads);
  }

  void run(const Run& run) override {
    const auto& p = product_;
    const auto* a = run.in<T>(0);
    const auto* b = run.in<T>(1);
    const auto* bias = epilogue_.bias ? run.in<T>(2) : nullptr;
    auto* c = run.out<T>();
    if (blocks_.empty()) {
      run.intra.parallel_for(p.batch, p.cycles() + 200, [&](auto begin, auto end) {
        const Block whole{0, p.m, 0, p.n};
        for (auto i = begin; i < end; ++i)
          multiply(whole, a + i * p.m * p.k, b + i * p.k * p.n, bias, c + i * p.m * p.n);
      });
    } else {
      run.intra.run(static_cast<int>(blocks_.size()),
                    [&](int i) { multiply(blocks_[i], a, b, bias, c); });
    }
  }

 private:
  /// Cuts the output into blocks, two for each thread so that one that comes late
  /// does not hold up the others. The sum behind one value must not depend on the
  /// cut: oneDNN adds in the same order however many columns it is given, but not
  /// however many rows, nor where b alone is transposed. There the size of the
  /// blocks depends on nothing but the shape.
  void split(int threads) {
    constexpr std::int64_t kColumns = 48;  // the width of oneDNN's innermost kernel
    constexpr std::int64_t kPanel = 256;
    const auto& p = product_;
    if (worthwhile_shards(p.cycles(), 2) == 1) {
      blocks_.push_back({0, p.m, 0, p.n});
    } else if (p.m >= 4 * p.n && p.m >= 2 * kPanel) {
      for (std::int64_t row = 0; row < p.m; row += kPanel)
        blocks_.push_back({row, std::min(kPanel, p.m - row), 0, p.n});
    } else {
      const auto units = (p.n + kColumns - 1) / kColumns;
      const bool by_shape = p.transpose_b && !p.transpose_a;
      const auto most = by_shape ? std::bit_floor(static_cast<std::uint64_t>(units) / 3)
                                 : std::min<std::int64_t>(units, 2 * threads);
      const auto parts = worthwhile_shards(p.cycles(), static_cast<std::int64_t>(most));
      for (std::int64_t i = 0; i < parts; ++i) {
        const auto begin = units * i / parts * kColumns;
        const auto end = std::min(units * (i + 1) / parts * kColumns, p.n);
        blocks_.push_back({0, p.m, begin, end - begin});
      }
    }
  }

  void multiply(const Block& part, const T* a, const T* b, const T* bias, T* c) const {
    if (part.rows == 0 || part.columns == 0) return;
    if (product_.m * product_.n * product_.k <= kTiny)
      tiny_product(product_, a, b, c);
    else
      onednn::guarded(label_, "multiply", [&] { library_product(product_, part, a, b, c); });
    epilogue_.apply(product_, part, bias, c);
  }

  const std::string label_;
  const Product product_;
  const Epilogue epilogue_;
  std::vector<Block> blocks_;  // empty for a batch: then each product is a unit of work
};

KernelPtr make_matmul(const KernelInit& init, const Epilogue& epilogue) {
  const Product product(init.attributes(), init.inputs[0].shape, init.inputs[1].shape);
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() -> KernelPtr {
    return std::make_unique<MatmulKernel<T>>(init, product, epilogue);
  });
}

KernelPtr matmul_cpu(const KernelInit& init) { return make_matmul(init, {}); }
KernelPtr fused_matmul_cpu(const KernelInit& init) {
  const auto relu = init.attributes().get<std::string>("activation") == "relu";
  return make_matmul(init, {.bias = true, .relu = relu});
}

/// With c = op(a) op(b): the gradient of op(a) is dc op(b)', that of op(b) is
/// op(a)' dc; the products are written so that no matrix is transposed apart.
GradientList matmul_gradient(const Backward& g) {
  const bool ta = transposes(g.attributes(), "transpose_a");
  const bool tb = transposes(g.attributes(), "transpose_b");
  const auto a = g.x(0);
  const auto b = g.x(1);
  const auto dc = g.dy();
  const auto da = ta ? matmul(b, dc, {.transpose_a = tb, .transpose_b = true})
                     : matmul(dc, b, {.transpose_a = false, .transpose_b = !tb});
  const auto db = tb ? matmul(dc, a, {.transpose_a = true, .transpose_b = ta})
                     : matmul(a, dc, {.transpose_a = !ta, .transpose_b = false});
  return {da, db};
}

const OpDef matmul_op{.name = "matmul",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .infer = matmul_shape,
                      .cpu = matmul_cpu,
                      .gradient = matmul_gradient};
const OpDef fused_matmul_op{.name = "fused_matmul",
                            .min_inputs = 3,
                            .max_inputs = 3,
                            .infer = fused_matmul_shape,
                            .cpu = fused_matmul_cpu};

}  // namespace

OpFamily matmul_ops() { return {&matmul_op, &fused_matmul_op}; }

Output matmul(Output a, Output b, const MatmulOptions& options) {
  return a.graph()
      .add("matmul", {autocast(a), autocast(b)},
           {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}})
      .output(0);
}

}  // namespace troupe
