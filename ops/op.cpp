#include "troupe/ops/op.h"

namespace troupe {

void InferContext::refuse(const std::string& what) const {
  troupe::fail(Code::invalid_argument, "node '", node_.name, "' (", node_.op->name, "): ", what);
}

void InferContext::expect_rank(int i, int rank, std::string_view meaning) const {
  if (shape(i).rank() != rank)
    fail("input ", i, " has shape ", shape(i), ", but needs ", rank, " axes: ", meaning);
}

void InferContext::expect_floating(int i) const {
  if (!is_floating(dtype(i)))
    fail("input ", i, " is ", dtype(i), ", but must be float32 or float64");
}

void InferContext::expect_same_dtype(int i, int j) const {
  if (dtype(i) != dtype(j))
    fail("inputs ", i, " and ", j, " must have the same dtype, but are ", dtype(i), " and ",
         dtype(j), "; use cast");
}

int InferContext::axis(std::string_view attribute, int rank) const {
  return axis(attribute, attributes().get<std::int64_t>(attribute), rank);
}

int InferContext::axis(std::string_view attribute, std::int64_t given, int rank) const {
  const auto axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank)
    fail(attribute, " is ", given, ", but must be in [", -rank, ", ", rank, ")");
  return static_cast<int>(axis);
}

std::vector<TensorSpec> infer_outputs(const Node& node) {
  std::vector<TensorSpec> specs;
  specs.reserve(node.inputs.size());
  for (const auto& input : node.inputs) specs.push_back(input.spec());
  return infer_outputs(node, specs);
}

std::vector<TensorSpec> infer_outputs(const Node& node, std::span<const TensorSpec> inputs) {
  const auto& op = *node.op;
  InferContext context(node, inputs);
  const int given = context.inputs();
  if (given < op.min_inputs || (op.max_inputs != OpDef::kAny && given > op.max_inputs)) {
    if (op.max_inputs == op.min_inputs)
      context.fail("takes ", op.min_inputs, " inputs, but got ", given);
    if (op.max_inputs == OpDef::kAny)
      context.fail("takes at least ", op.min_inputs, " inputs, but got ", given);
    context.fail("takes ", op.min_inputs, " to ", op.max_inputs, " inputs, but got ", given);
  }
  const auto where = text("node '", node.name, "' (", op.name, ")");
  try {
    op.infer(context);
  } catch (const Error& error) {
    // Rules may also fail inside Shape or Attributes, which do not know the node.
    if (std::string_view(error.what()).rfind("node '", 0) == 0) throw;
    throw Error(Code::invalid_argument, text(where, ": ", error.what()));
  }
  return context.take_outputs();
}

}  // namespace troupe
