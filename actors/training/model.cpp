#include "troupe/actors/training/model.h"

#include "troupe/ops/error.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

void expect_scalar(const Model& model, const Output& output, const std::string& what) {
  if (!output) fail(Code::invalid_argument, "the model has no ", what);
  if (&output.graph() != model.graph.get())
    fail(Code::invalid_argument, "the ", what, " ('", output.name(),
         "') belongs to another graph than the model's");
  if (output.shape().rank() != 0)
    fail(Code::invalid_argument, "the ", what, " ('", output.name(),
         "') must be one number, but is ", output.spec(), "; use reduce_mean");
}

}  // namespace

void validate(const Model& model) {
  if (!model.graph) fail(Code::invalid_argument, "the model has no graph");
  expect_scalar(model, model.loss, "loss");
  for (const auto& metric : model.metrics)
    expect_scalar(model, metric.value, text("metric '", metric.name, "'"));
  for (const auto& input : model.inputs)
    if (!input || input.node().op->name != "placeholder")
      fail(Code::invalid_argument, "every input of a model must be a placeholder, but ",
           input ? text("'", input.name(), "' is a ", input.node().op->name) : "one is nothing");
}

}  // namespace troupe
