#include "troupe/actors/stages/stage_program.h"

#include "troupe/ops/elementwise.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

/// What the stage in front must make: the stage's input.
TensorSpec with_any_rows(const TensorSpec& spec) {
  return {spec.dtype, spec.shape.without_first().with_first(Shape::kUnknown)};
}

struct Built {
  StageProgram program;
  TensorSpec output;
};

/// Adds the gradients of `objective`, and the graph's updates, to what backward fetches.
void add_gradients(Graph& graph, StageProgram& program, Output objective, Output input) {
  const auto variables = graph.variables();
  OutputList by;
  std::vector<std::string> names;
  for (const auto& variable : variables)
    if (variable.trainable()) {
      by.push_back(variable.read());
      names.push_back(variable.name());
    }
  if (program.has_input_gradient) by.push_back(input);
  auto found = gradients(objective, by);
  auto& fetches = program.backward.fetches;
  if (program.has_input_gradient) {
    if (!found.back())
      fail(Code::invalid_argument, "what it makes does not depend on the stage before it");
    fetches.push_back(found.back().dense().name());
    found.pop_back();
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    fetches.push_back(found[i].dense().name());
    program.parts.push_back({names[i], PartKind::gradient});
  }
  if (program.parts.empty()) fail(Code::invalid_argument, "there is no variable to train in it");
  for (const auto& updated : graph.updates()) {
    fetches.push_back(updated.name());
    program.parts.push_back({updated.node().inputs.at(0).node().name, PartKind::assignment});
  }
}

Built build(const StagedModel& model, std::size_t index, const TensorSpec& before,
            std::uint64_t seed) {
  const bool last = index + 1 == model.stages.size();
  const auto graph = std::make_shared<Graph>();
  Built built;
  auto& program = built.program;
  const NameScope scope(*graph, text("stage_", index));
  const auto input = placeholder(*graph, "input", before.dtype, before.shape);
  const auto output = model.stages[index](input);
  built.output = output.spec();
  if (!is_floating(output.dtype()) || output.shape().rank() == 0)
    fail(Code::invalid_argument, "it makes ", output.spec(), ", not a floating tensor with rows");
  const auto& wanted = last ? model.labels : with_any_rows(output.spec());
  const auto returned =
      placeholder(*graph, last ? "labels" : "output_gradient", wanted.dtype, wanted.shape);
  Output told;
  for (const auto& regularizer : graph->regularizers())
    told = told ? told + regularizer : regularizer;
  Output objective;
  if (last) {
    const auto loss = model.loss(output, returned);
    if (loss.shape().rank() != 0)
      fail(Code::invalid_argument, "the loss is ", loss.spec(), ", not a scalar");
    objective = told = told ? loss + told : loss;
  } else {
    // Its gradient by the stage's variables is that of the loss: the chain rule.
    objective = reduce_sum(output * returned);
    if (told) objective = objective + told;
  }
  program.has_loss = static_cast<bool>(told);
  program.has_input_gradient = index > 0;
  program.backward.graph = graph;
  program.backward.feeds = {input.name(), returned.name()};
  if (told) program.backward.fetches.push_back(told.name());
  add_gradients(*graph, program, objective, input);
  if (!last) {
    program.forward.graph = graph;
    program.forward.feeds = {input.name()};
    program.forward.fetches = {output.name()};
  }
  for (const auto& variable : graph->variables()) {
    program.variables.push_back(
        {variable.name(), initial_value(variable, seed), variable.trainable()});
    program.backward.feeds.push_back(variable.name());
    if (!last) program.forward.feeds.push_back(variable.name());
  }
  graph->finish();
  return built;
}

}  // namespace

std::vector<StageProgram> cut_into_stages(const StagedModel& model, std::uint64_t seed) {
  if (model.stages.size() < 2 || !model.loss)
    fail(Code::invalid_argument, "a model that is cut has at least two stages and a loss, but ",
         model.stages.size(), " stages", model.loss ? "" : " and no loss", " were given");
  if (model.input.shape.rank() == 0 || model.labels.shape.rank() == 0)
    fail(Code::invalid_argument, "inputs and labels of a model have rows, but ", model.input,
         " and ", model.labels, " have none");
  std::vector<StageProgram> programs;
  auto spec = with_any_rows(model.input);
  for (std::size_t i = 0; i < model.stages.size(); ++i) {
    try {
      auto built = build(model, i, spec, seed);
      spec = with_any_rows(built.output);
      programs.push_back(std::move(built.program));
    } catch (const Error& error) {
      throw error.within(text("stage ", i));
    }
  }
  return programs;
}

}  // namespace troupe
