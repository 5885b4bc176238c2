#include "together.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "commands.h"
#include "say.h"
#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/ensemble/ensemble_scores.h"
#include "troupe/actors/ensemble/model_ensemble.h"
#include "troupe/actors/ensemble/model_member.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

constexpr const char* kWeighted = "weighted:";

/// How answers are combined, and how much each member counts.
struct Combination {
  Combiner combiner;
  std::vector<double> weights;  // empty where all count alike
};

Combination parse_combination(const std::string& text) {
  if (text.rfind(kWeighted, 0) != 0) return {combiner_named(text), {}};
  Combination made{mean_combiner(), {}};
  std::istringstream numbers(text.substr(std::string(kWeighted).size()));
  for (std::string number; std::getline(numbers, number, ',');) {
    char* end = nullptr;
    const double weight = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != 0 || !(weight > 0) || !std::isfinite(weight))
      fail(Code::invalid_argument, "a weight is a number above 0, but '", number, "' was given");
    made.weights.push_back(weight);
  }
  if (made.weights.empty())
    fail(Code::invalid_argument, "weights stand behind 'weighted:', as in weighted:0.7,0.3");
  return made;
}

struct Members {
  Combination combination;
  std::vector<TrainedModel> models;
  std::vector<std::string> names;  // with their steps, for people
  std::vector<Program> programs;
};

/// Opens all checkpoints, and sees to it that they fit each other.
template <class MakeProgram>
Members open_all(const TogetherRun& run, MakeProgram make_program) {
  Members members;
  members.combination = parse_combination(run.together.combine);
  const auto& weights = members.combination.weights;
  if (!weights.empty() && weights.size() != run.checkpoints.size())
    throw UsageError(text("there are ", run.checkpoints.size(), " checkpoints, but --combine has ",
                          weights.size(), weights.size() == 1 ? " weight" : " weights"));
  if (run.together.quorum > static_cast<std::int64_t>(run.checkpoints.size()))
    throw UsageError(text("--quorum is ", run.together.quorum, ", but there are ",
                          run.checkpoints.size(), " checkpoints"));
  for (std::size_t i = 0; i < run.checkpoints.size(); ++i) {
    const auto& path = run.checkpoints[i];
    if (std::count(run.checkpoints.begin(), run.checkpoints.end(), path) > 1)
      throw UsageError(text(path, " is given twice"));
    const auto checkpoint = Checkpoint::open(path);
    const bool says = checkpoint.manifest().state.contains("program");
    auto program = make_program(program_of(checkpoint, says ? "" : run.program), run.data);
    members.models.push_back(
        {path, program.model, trained_weights(checkpoint), weights.empty() ? 1 : weights[i]});
    members.names.push_back(text(path, " at step ", checkpoint.step()));
    members.programs.push_back(std::move(program));
  }
  expect_members_fit(members.models);
  return members;
}

}  // namespace

void add_together_options(CLI::App& command, TogetherArguments& a, bool waiting) {
  command
      .add_option("--combine", a.combine,
                  "Of several checkpoints: mean, probability, vote, or weighted:0.7,0.3")
      ->check([](const std::string& given) -> std::string {
        try {
          parse_combination(given);
          return {};
        } catch (const Error& error) {
          return error.what();
        }
      })
      ->capture_default_str();
  if (!waiting) return;
  command
      .add_option("--quorum", a.quorum,
                  "Answers of checkpoints that are enough at the deadline; 0: all")
      ->check(at_least(0))
      ->capture_default_str();
  command
      .add_option("--deadline-ms", a.deadline_ms,
                  "Milliseconds to wait for the answers to a batch; 0: for ever")
      ->check(at_least(0))
      ->capture_default_str();
}

void predict_together(const TogetherRun& run, const TakeRows& take) {
  const auto members = open_all(run, prediction_program);
  EnsembleOptions options;
  options.combiner = members.combination.combiner;
  options.quorum = run.together.quorum;
  if (run.together.deadline_ms > 0) options.deadline = Timeout(run.together.deadline_ms);
  ModelEnsemble ensemble(options, run.threads);
  for (const auto& m : members.models) ensemble.join(m.name, m.model, m.weights, m.weight);
  const auto positions = query_inputs(members.models[0].model(false));
  BatchIterator batches(*members.programs[0].test, run.threads);
  while (const auto batch = batches.next()) {
    TensorList inputs;
    for (const auto i : positions) inputs.push_back(batch->components.at(i));
    const auto answer = ensemble.run(inputs);
    for (const auto& missing : answer.missing) complain("troupe: without {}", missing);
    if (!take(members.programs[0], answer.outputs.at(0))) return;
  }
}

void eval_together(const TogetherRun& run) {
  const auto members = open_all(run, evaluation_program);
  const auto& data = *members.programs[0].test;
  const auto scores = score_together(members.models, members.combination.combiner, data,
                                     score_for(data.components().back()), run.threads);
  for (std::size_t i = 0; i < members.names.size(); ++i)
    say("{}: {} {:.4f}\n", members.names[i], scores.name, scores.members[i]);
  say("together ({}): {} examples, {} {:.4f}\n", run.together.combine, scores.rows, scores.name,
      scores.together);
}

std::string program_of(const Checkpoint& checkpoint, const std::string& given) {
  const auto& state = checkpoint.manifest().state;
  const auto found = state.find("program");
  if (found == state.end() && given.empty())
    throw UsageError(text(checkpoint.name(),
                          " does not say which program it belongs to: name it with --program"));
  if (found != state.end() && !given.empty() && given != found->second)
    throw UsageError(text(checkpoint.name(), " is a checkpoint of the program '", found->second,
                          "', not of '", given, "' (--program)"));
  return given.empty() ? found->second : given;
}

}  // namespace troupe::cli
