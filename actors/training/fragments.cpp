#include "troupe/actors/training/fragments.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/op.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

bool is_gather_of_rows(const Node& node) {
  if (node.op->name != "gather") return false;
  const auto axis = node.attributes.get_or("axis", std::int64_t{0});
  const auto rank = node.inputs[0].shape().rank();
  return axis == 0 || axis == -rank;
}

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

/// Whether a value is known from the inputs of a batch alone.
bool depends_on_inputs_alone(const Model& model, const Output& value) {
  for (const auto* node : needed_by({value})) {
    const auto is_it = [&](const Output& input) { return &input.node() == node; };
    if (std::any_of(model.inputs.begin(), model.inputs.end(), is_it)) continue;
    if (node->op->stateful) return false;
  }
  return true;
}

/// The nodes among `needed` that read rows of the variable; none when there is any other use.
std::vector<const Node*> row_reads(const Model& model, const Variable& variable,
                                   const OutputList& all, const std::set<const Node*>& needed) {
  const auto value = variable.read();
  if (std::find(all.begin(), all.end(), value) != all.end()) return {};
  std::vector<const Node*> reads;
  for (const auto& node : model.graph->nodes()) {
    if (!needed.count(&node)) continue;
    const auto uses = std::count(node.inputs.begin(), node.inputs.end(), value);
    if (uses == 0) continue;
    if (uses > 1 || !is_gather_of_rows(node) || !(node.inputs[0] == value) ||
        !depends_on_inputs_alone(model, node.inputs[1]))
      return {};
    reads.push_back(&node);
  }
  return reads;
}

/// Makes a feed of what the node gives, and remembers where its row numbers come from.
void add_read(ModelFragment& fragment, const Model& model, const Node& node) {
  auto& graph = *model.graph;
  const auto& ids = node.inputs[1];
  RowRead read{node.inputs[0].node().name, graph.node(node.id).output(0).name(),
               node.inputs[0].shape()[0]};
  const auto input = std::find(model.inputs.begin(), model.inputs.end(), ids);
  if (input != model.inputs.end()) {
    read.input = static_cast<std::size_t>(input - model.inputs.begin());
  } else {
    auto& spec = fragment.ids;
    spec.graph = model.graph;
    const auto name = ids.name();
    const auto known = std::find(spec.fetches.begin(), spec.fetches.end(), name);
    read.fetch = static_cast<std::size_t>(known - spec.fetches.begin());
    if (known == spec.fetches.end()) spec.fetches.push_back(name);
    const auto needed = needed_by({ids});
    for (std::size_t i = 0; i < model.inputs.size(); ++i) {
      const auto& feeds = fragment.ids_inputs;
      if (!needed.count(&model.inputs[i].node()) ||
          std::find(feeds.begin(), feeds.end(), i) != feeds.end())
        continue;
      fragment.ids_inputs.push_back(i);
      spec.feeds.push_back(model.inputs[i].name());
    }
  }
  fragment.reads.push_back(std::move(read));
}

/// Everything but the outputs that are streamed. Inputs that nothing needs are
/// fed all the same: a batch has them.
ModelFragment with_feeds(const Model& model, const OutputList& all, bool every_input,
                         const std::vector<std::string>& tables) {
  ModelFragment fragment;
  fragment.spec.graph = model.graph;
  const auto needed = needed_by(all);
  for (const auto& input : model.inputs)
    if (every_input || needed.count(&input.node())) fragment.spec.feeds.push_back(input.name());
  fragment.inputs = fragment.spec.feeds.size();
  for (const auto& variable : model.graph->variables()) {
    if (!needed.count(variable.node)) continue;
    if (std::find(tables.begin(), tables.end(), variable.name()) == tables.end()) {
      fragment.variables.push_back(variable.name());
      fragment.spec.feeds.push_back(variable.name());
      continue;
    }
    const auto reads = row_reads(model, variable, all, needed);
    if (reads.empty())
      fail(Code::invalid_argument, "variable '", variable.name(),
           "' is pulled by rows, because the training model only reads rows of it; but here it is "
           "used in another way too (TrainingOptions::tables)");
    for (const auto* node : reads) add_read(fragment, model, *node);
  }
  for (const auto& read : fragment.reads) fragment.spec.feeds.push_back(read.name);
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

std::vector<std::string> table_variables(const Model& model, const TableOptions& options) {
  std::vector<std::string> tables;
  if (options.none) return tables;
  OutputList all{model.loss};
  for (const auto& metric : model.metrics) all.push_back(metric.value);
  for (const auto& updated : model.graph->updates()) all.push_back(updated);
  const auto needed = needed_by(all);
  for (const auto& variable : model.graph->variables()) {
    const auto& spec = variable.spec();
    if (spec.shape.rank() == 0 || spec.shape.volume() == 0 || !is_floating(spec.dtype)) continue;
    const auto bytes = static_cast<std::uint64_t>(spec.shape.volume()) * size_of(spec.dtype);
    if (bytes >= options.from_bytes && !row_reads(model, variable, all, needed).empty())
      tables.push_back(variable.name());
  }
  return tables;
}

TensorList feeds_for(const ModelFragment& fragment, TensorList inputs, const TensorList& variables,
                     const TensorList& reads) {
  if (inputs.size() != fragment.inputs)
    fail(Code::invalid_argument, "the model has ", fragment.inputs, " inputs, but a batch has ",
         inputs.size(), " components");
  auto feeds = std::move(inputs);
  feeds.insert(feeds.end(), variables.begin(), variables.end());
  feeds.insert(feeds.end(), reads.begin(), reads.end());
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

namespace {

/// The gradient divided by what the loss was multiplied with.
Gradient unscaled(Gradient gradient, Output scale) {
  if (gradient) gradient.values = div(gradient.values, cast(scale, gradient.values.dtype()));
  return gradient;
}

}  // namespace

ModelFragment training_fragment(const Model& model, bool gradient_norm,
                                const std::vector<std::string>& tables, bool scale_loss) {
  validate(model);
  auto& graph = *model.graph;
  OutputList trainable;
  std::vector<std::string> names;
  for (const auto& variable : graph.variables())
    if (variable.trainable()) {
      trainable.push_back(variable.read());
      names.push_back(variable.name());
    }
  std::optional<Output> scale;
  GradientList found;
  if (scale_loss) {
    scale = placeholder(graph, "loss_scale", model.loss.dtype(), {});
    for (const auto& gradient : gradients(mul(model.loss, *scale), trainable))
      found.push_back(unscaled(gradient, *scale));
  } else {
    found = gradients(model.loss, trainable);
  }

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
  auto fragment = with_feeds(model, all, true, tables);
  if (scale) {
    fragment.loss_scale = scale->dtype();
    fragment.spec.feeds.push_back(scale->name());
  }
  fetch_values(fragment, model);
  if (gradient_norm)
    fetch(fragment, "gradient_norm", graph.add("add_n", norms, {}, "gradient_norm").output(0),
          Combine::mean);
  for (const auto& output : streamed) fragment.spec.streamed.push_back(output.name());
  fragment.parts = std::move(parts);
  graph.finish();
  return fragment;
}

ModelFragment evaluation_fragment(const Model& model, const std::vector<std::string>& tables) {
  validate(model);
  OutputList all{model.loss};
  for (const auto& metric : model.metrics) all.push_back(metric.value);
  auto fragment = with_feeds(model, all, true, tables);
  fetch_values(fragment, model);
  model.graph->finish();
  return fragment;
}

ModelFragment prediction_fragment(const Model& model) {
  validate(model);
  if (!model.predictions) fail(Code::invalid_argument, "the model names no predictions");
  auto fragment = with_feeds(model, {model.predictions}, false, {});
  fragment.spec.fetches.push_back(model.predictions.name());
  fragment.values.push_back("predictions");
  fragment.combines.push_back(Combine::mean);
  model.graph->finish();
  return fragment;
}

}  // namespace troupe
