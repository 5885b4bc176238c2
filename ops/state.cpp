#include "troupe/ops/state.h"

#include <cstring>

#include "troupe/ops/catalog.h"
#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

/// The dtype and shape attributes are the output.
void as_declared(InferContext& c) {
  c.output(c.attributes().get<DType>("dtype"), c.attributes().get<Shape>("shape"));
}

void variable_shape(InferContext& c) {
  const auto& shape = c.attributes().get<Shape>("shape");
  if (!shape.known()) c.fail("a variable needs known extents, but has shape ", shape);
  as_declared(c);
}

void constant_shape(InferContext& c) {
  const auto& value = c.attributes().get<Tensor>("value");
  c.output(value.dtype(), value.shape());
}

KernelPtr constant_cpu(const KernelInit& init) {
  const auto value = init.attributes().get<Tensor>("value");
  return make_kernel([value](const Run& run) {
    if (value.dtype() == DType::string) {
      const auto from = value.read<std::string>();
      std::copy(from.begin(), from.end(), run.out<std::string>());
    } else if (value.size() > 0) {
      std::memcpy(run.outputs[0], value.data(), value.byte_size());
    }
  });
}

void same_as_input(InferContext& c) { c.output(c.input(0)); }

GradientList pass_through(const Backward& b) { return {b.dy()}; }
GradientList none(const Backward& b) { return GradientList(b.inputs()); }

template <int kValue>
KernelPtr fill_cpu(const KernelInit& init) {
  const auto count = init.outputs[0].shape.volume();
  return dispatch_numeric_or_bool(init.outputs[0].dtype, "fill", [&]<class T>() {
    return make_kernel(
        [count](const Run& run) { std::fill_n(run.out<T>(), count, static_cast<T>(kValue)); });
  });
}

void no_output(InferContext&) {}
KernelPtr do_nothing(const KernelInit&) {
  return make_kernel([](const Run&) {}, 1);
}

void assign_shape(InferContext& c) {
  const auto& target = c.node().inputs[0].node();
  if (target.op->name != "variable")
    c.fail("'", target.name, "' (", target.op->name,
           ") is not a variable and cannot be assigned to");
  c.expect_same_dtype(0, 1);
  if (!compatible(c.shape(0), c.shape(1)))
    c.fail("variable '", target.name, "' has shape ", c.shape(0), ", but the value has ",
           c.shape(1));
  c.output(c.input(0));
}

KernelPtr assign_cpu(const KernelInit& init) {
  const auto bytes =
      static_cast<std::size_t>(init.outputs[0].shape.volume()) * size_of(init.outputs[0].dtype);
  if (init.outputs[0].dtype == DType::string)
    fail(Code::unimplemented, "node '", init.node.name, "' (assign): no kernel for string");
  return make_kernel([bytes](const Run& run) {
    if (run.outputs[0] != run.inputs[1]) std::memcpy(run.outputs[0], run.inputs[1], bytes);
  });
}

template <int kSign>
KernelPtr assign_add_cpu(const KernelInit& init) {
  const auto count = init.outputs[0].shape.volume();
  return dispatch_numeric(init.outputs[0].dtype, "assign_add", [&]<class T>() {
    return make_kernel([count](const Run& run) {
      const auto* value = run.in<T>(0);
      const auto* delta = run.in<T>(1);
      auto* out = run.out<T>();
      for (std::int64_t i = 0; i < count; ++i)
        out[i] = static_cast<T>(kSign > 0 ? value[i] + delta[i] : value[i] - delta[i]);
    });
  });
}

const OpDef placeholder_op{.name = "placeholder", .infer = as_declared, .stateful = true};
const OpDef variable_op{.name = "variable", .infer = variable_shape, .stateful = true};
const OpDef constant_op{.name = "constant", .infer = constant_shape, .cpu = constant_cpu};
const OpDef identity_op{.name = "identity",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .infer = same_as_input,
                        .gradient = pass_through,
                        .alias = true};
const OpDef stop_gradient_op{.name = "stop_gradient",
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .infer = same_as_input,
                             .gradient = none,
                             .alias = true};
const OpDef zeros_like_op{.name = "zeros_like",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .infer = same_as_input,
                          .cpu = fill_cpu<0>,
                          .gradient = none,
                          .shape_only = 1};
const OpDef ones_like_op{.name = "ones_like",
                         .min_inputs = 1,
                         .max_inputs = 1,
                         .infer = same_as_input,
                         .cpu = fill_cpu<1>,
                         .gradient = none,
                         .shape_only = 1};
const OpDef no_op{.name = "no_op", .infer = no_output, .cpu = do_nothing, .stateful = true};
const OpDef assign_op{.name = "assign",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .infer = assign_shape,
                      .cpu = assign_cpu,
                      .stateful = true};
const OpDef assign_add_op{.name = "assign_add",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .infer = assign_shape,
                          .cpu = assign_add_cpu<1>,
                          .stateful = true};
const OpDef assign_sub_op{.name = "assign_sub",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .infer = assign_shape,
                          .cpu = assign_add_cpu<-1>,
                          .stateful = true};

}  // namespace

OpFamily state_ops() {
  return {&placeholder_op,   &variable_op,   &constant_op,  &identity_op,
          &stop_gradient_op, &zeros_like_op, &ones_like_op, &no_op,
          &assign_op,        &assign_add_op, &assign_sub_op};
}

Output placeholder(Graph& graph, const std::string& name, DType dtype, const Shape& shape) {
  return graph.add("placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name).output(0);
}

Output constant(Graph& graph, Tensor value, const std::string& name) {
  return graph.add("constant", {}, {{"value", std::move(value)}}, name).output(0);
}

Output constant(Graph& graph, double value, DType dtype) {
  return constant(graph, Tensor::filled(dtype, {}, value));
}

Output identity(Output x) { return x.graph().add("identity", {x}).output(0); }
Output stop_gradient(Output x) { return x.graph().add("stop_gradient", {x}).output(0); }
Output zeros_like(Output x) { return x.graph().add("zeros_like", {x}).output(0); }
Output ones_like(Output x) { return x.graph().add("ones_like", {x}).output(0); }

Output group(Graph& graph, const OutputList& outputs, const std::string& name) {
  const ControlScope after(graph, outputs);
  return {graph.add("no_op", {}, {}, name), 0};
}

Output assign(Output variable, Output value) {
  return variable.graph().add("assign", {variable, value}).output(0);
}
Output assign_add(Output variable, Output delta) {
  return variable.graph().add("assign_add", {variable, delta}).output(0);
}
Output assign_sub(Output variable, Output delta) {
  return variable.graph().add("assign_sub", {variable, delta}).output(0);
}

bool is_assignment(const Node& node) {
  return node.op == &assign_op || node.op == &assign_add_op || node.op == &assign_sub_op;
}

}  // namespace troupe
