#include "troupe/ops/initializers.h"

#include <cmath>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/op.h"
#include "troupe/ops/random.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace init {

Initializer zeros() { return {}; }
Initializer ones() { return constant(1); }
Initializer constant(double value) { return {"constant", value, 0, {}}; }
Initializer value(Tensor value) { return {"value", 0, 0, std::move(value)}; }
Initializer uniform(double low, double high) { return {"uniform", low, high, {}}; }
Initializer normal(double mean, double stddev) { return {"normal", mean, stddev, {}}; }
Initializer truncated_normal(double mean, double stddev) {
  return {"truncated_normal", mean, stddev, {}};
}
Initializer xavier_uniform() { return {"xavier_uniform", 0, 0, {}}; }
Initializer xavier_normal() { return {"xavier_normal", 0, 0, {}}; }
Initializer he_uniform() { return {"he_uniform", 0, 0, {}}; }
Initializer he_normal() { return {"he_normal", 0, 0, {}}; }

}  // namespace init

namespace {

struct Fans {
  double in = 1;
  double out = 1;
};

Fans fans(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {double(shape[0]), double(shape[0])};
  double window = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) window *= double(shape[axis]);
  return {window * double(shape[-2]), window * double(shape[-1])};
}

template <class Draw>
Tensor fill(DType dtype, const Shape& shape, Draw draw) {
  auto tensor = Tensor::uninitialized(dtype, shape);
  dispatch_numeric_or_bool(dtype, "initializer", [&]<class T>() {
    for (auto& value : tensor.write<T>()) value = static_cast<T>(draw());
  });
  return tensor;
}

Tensor uniform_values(DType dtype, const Shape& shape, RandomStream random, double low,
                      double high) {
  return fill(dtype, shape, [&] { return low + (high - low) * random.uniform(); });
}

Tensor truncated_values(DType dtype, const Shape& shape, RandomStream random, double mean,
                        double stddev) {
  return fill(dtype, shape, [&] {
    double z = random.normal();
    while (std::abs(z) > 2) z = random.normal();
    return mean + stddev * z;
  });
}

}  // namespace

Tensor evaluate(const Initializer& i, DType dtype, const Shape& shape, std::string_view name,
                std::uint64_t seed) {
  const RandomStream random(seed_for(seed, name));
  const auto [in, out] = fans(shape);
  if (i.kind == "zeros") return Tensor(dtype, shape);
  if (i.kind == "constant") return Tensor::filled(dtype, shape, i.a);
  if (i.kind == "uniform") return uniform_values(dtype, shape, random, i.a, i.b);
  if (i.kind == "normal") {
    auto stream = random;
    return fill(dtype, shape, [&] { return i.a + i.b * stream.normal(); });
  }
  if (i.kind == "truncated_normal") return truncated_values(dtype, shape, random, i.a, i.b);
  if (i.kind == "xavier_uniform") {
    const double limit = std::sqrt(6 / (in + out));
    return uniform_values(dtype, shape, random, -limit, limit);
  }
  if (i.kind == "xavier_normal")
    return truncated_values(dtype, shape, random, 0, std::sqrt(1.3 * 2 / (in + out)));
  if (i.kind == "he_uniform") {
    const double limit = std::sqrt(6 / in);
    return uniform_values(dtype, shape, random, -limit, limit);
  }
  if (i.kind == "he_normal")
    return truncated_values(dtype, shape, random, 0, std::sqrt(1.3 * 2 / in));
  if (i.kind == "value") {
    if (!(i.value.shape() == shape) || i.value.dtype() != dtype)
      fail(Code::invalid_argument, "variable '", name, "' is ", dtype, " ", shape,
           ", but its initial value is ", i.value.dtype(), " ", i.value.shape());
    return i.value;
  }
  fail(Code::invalid_argument, "variable '", name, "': no initializer is called '", i.kind, "'");
}

Output variable(Graph& graph, const std::string& name, const Shape& shape,
                const Initializer& initializer, const VariableOptions& options) {
  Attributes attributes{{"dtype", options.dtype},
                        {"shape", shape},
                        {"trainable", options.trainable},
                        {"initializer", initializer.kind},
                        {"initializer_values", std::vector<double>{initializer.a, initializer.b}}};
  if (initializer.kind == "value") {
    evaluate(initializer, options.dtype, shape, name, 0);  // refuses a value that does not fit
    attributes.set("initial_value", initializer.value);
  }
  if (auto* existing = graph.find(graph.scoped(name));
      existing && existing->op->name == "variable") {
    const TensorSpec wanted{options.dtype, shape};
    if (!(existing->outputs[0] == wanted) || Variable{existing}.trainable() != options.trainable)
      fail(Code::invalid_argument, "variable '", existing->name, "' exists as ",
           existing->outputs[0], Variable{existing}.trainable() ? "" : " (not trainable)",
           ", but was asked for as ", wanted, options.trainable ? "" : " (not trainable)");
    return existing->output(0);
  }
  return graph.add("variable", {}, std::move(attributes), name).output(0);
}

Tensor initial_value(const Variable& variable, std::uint64_t seed) {
  const auto& attributes = variable.node->attributes;
  Initializer initializer;
  initializer.kind = attributes.get<std::string>("initializer");
  const auto& values = attributes.get<std::vector<double>>("initializer_values");
  if (values.size() != 2)
    fail(Code::invalid_argument, "variable '", variable.name(), "': initializer_values has ",
         values.size(), " entries, but needs 2");
  initializer.a = values[0];
  initializer.b = values[1];
  if (attributes.has("initial_value")) initializer.value = attributes.get<Tensor>("initial_value");
  const auto& spec = variable.spec();
  return evaluate(initializer, spec.dtype, spec.shape, variable.name(), seed);
}

}  // namespace troupe
