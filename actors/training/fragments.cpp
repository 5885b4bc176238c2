#include "troupe/actors/training/fragments.h"

#include <cmath>
#include <set>

#include "troupe/ops/error.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

/// Nodes that any of the outputs depends on.
std::set<const Node*> needed_by(const OutputList& outputs) {
  std::set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Node* node) {
    if (seen.insert(node).second) open.push_back(node);
  };
  for (const auto& output : outputs) visit(&output.node());
  while (!open.empty()) {
    const auto* node = open.back();
    open.pop_back();
    for (const auto& input : node->inputs) visit(&input.node());
    for (const auto* control : node->control_inputs) visit(control);
  }
  return seen;
}

/// Everything but the outputs that are streamed. Inputs that nothing needs are
/// fed all the same: a batch has them.
ModelFragment with_feeds(const Model& model, const OutputList& all, bool every_input) {
  ModelFragment fragment;
  fragment.spec.graph = model.graph;
  const auto needed = needed_by(all);
  for (const auto& input : model.inputs)
    if (every_input || needed.count(&input.node())) fragment.spec.feeds.push_back(input.name());
  fragment.inputs = fragment.spec.feeds.size();
  for (const auto& variable : model.graph->variables())
    if (needed.count(variable.node)) {
      fragment.variables.push_back(variable.name());
      fragment.spec.feeds.push_back(variable.name());
    }
  return fragment;
}

void fetch(ModelFragment& fragment, const std::string& name, const Output& value, Combine combine) {
  fragment.spec.fetches.push_back(value.name());
  fragment.values.push_back(name);
  fragment.combines.push_back(combine);
}

void fetch_values(ModelFragment& fragment, const Model& model) {
  fetch(fragment, "loss", model.loss, model.loss_combine);
  for (const auto& metric : model.metrics)
    fetch(fragment, metric.name, metric.value, metric.combine);
}

}  // namespace

TensorList feeds_for(const ModelFragment& fragment, TensorList inputs,
                     const TensorList& variables) {
  if (inputs.size() != fragment.inputs)
    fail(Code::invalid_argument, "the model has ", fragment.inputs, " inputs, but a batch has ",
         inputs.size(), " components");
  auto feeds = std::move(inputs);
  feeds.insert(feeds.end(), variables.begin(), variables.end());
  return feeds;
}

void CombinedValues::add(const TensorList& values, std::int64_t rows) {
  for (std::size_t i = 0; i < combines_.size(); ++i) {
    const double value = values.at(i).item();
    sums_[i] += static_cast<double>(rows) *
                (combines_[i] == Combine::root_mean_square ? value * value : value);
  }
  rows_ += rows;
}

std::vector<double> CombinedValues::values() const {
  auto values = sums_;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] /= static_cast<double>(rows_);
    if (combines_[i] == Combine::root_mean_square) values[i] = std::sqrt(values[i]);
  }
  return values;
}

ModelFragment training_fragment(const Model& model, bool gradient_norm) {
  validate(model);
  auto& graph = *model.graph;
  OutputList trainable;
  std::vector<std::string> names;
  for (const auto& variable : graph.variables())
    if (variable.trainable()) {
      trainable.push_back(variable.read());
      names.push_back(variable.name());
    }
  const auto found = gradients(model.loss, trainable);

  OutputList streamed;
  std::vector<StreamedPart> parts;
  OutputList norms;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    const auto kind = found[i].is_sparse() ? PartKind::sparse_gradient : PartKind::gradient;
    streamed.push_back(found[i].values);
    parts.push_back({names[i], kind, false});
    if (found[i].is_sparse()) {
      streamed.push_back(found[i].indices);
      parts.push_back({names[i], kind, true});
    }
    if (gradient_norm) norms.push_back(graph.add("l2_loss", {found[i].values}).output(0));
  }
  if (streamed.empty())
    fail(Code::invalid_argument, "the loss '", model.loss.name(),
         "' depends on no trainable variable: there is nothing to train");
  for (const auto& updated : graph.updates()) {
    streamed.push_back(updated);
    parts.push_back({updated.node().inputs.at(0).node().name, PartKind::assignment, false});
  }

  auto all = streamed;
  all.push_back(model.loss);
  for (const auto& metric : model.metrics) all.push_back(metric.value);
  auto fragment = with_feeds(model, all, true);
  fetch_values(fragment, model);
  if (gradient_norm)
    fetch(fragment, "gradient_norm", graph.add("add_n", norms, {}, "gradient_norm").output(0),
          Combine::mean);
  for (const auto& output : streamed) fragment.spec.streamed.push_back(output.name());
  fragment.parts = std::move(parts);
  graph.finish();
  return fragment;
}

ModelFragment evaluation_fragment(const Model& model) {
  validate(model);
  OutputList all{model.loss};
  for (const auto& metric : model.metrics) all.push_back(metric.value);
  auto fragment = with_feeds(model, all, true);
  fetch_values(fragment, model);
  model.graph->finish();
  return fragment;
}

ModelFragment prediction_fragment(const Model& model) {
  validate(model);
  if (!model.predictions) fail(Code::invalid_argument, "the model names no predictions");
  auto fragment = with_feeds(model, {model.predictions}, false);
  fragment.spec.fetches.push_back(model.predictions.name());
  fragment.values.push_back("predictions");
  fragment.combines.push_back(Combine::mean);
  model.graph->finish();
  return fragment;
}

}  // namespace troupe
