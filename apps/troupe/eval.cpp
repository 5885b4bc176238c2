#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "programs.h"
#include "say.h"
#include "troupe/actors/checkpoint/trained_values.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/session.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/ops/error.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

struct Arguments {
  std::string checkpoint;
  std::string program;
  DataArguments data;
  std::int64_t rows = 10;
  bool json = false;
  ThreadBudget threads;
};

/// The program that a checkpoint was trained by, or that the user says if it does not.
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

int eval(const Arguments& a) {
  const auto checkpoint = Checkpoint::open(a.checkpoint);
  const auto program = evaluation_program(program_of(checkpoint, a.program), a.data);
  const auto model = program.model(false);
  const auto fragment = evaluation_fragment(model);
  Session session(model.graph, {.threads = a.threads});
  session.restore(trained_values(checkpoint));

  OutputList fetches{model.loss};
  for (const auto& metric : model.metrics) fetches.push_back(metric.value);
  CombinedValues values(fragment.combines);
  BatchIterator batches(*program.test, a.threads);
  while (const auto batch = batches.next()) {
    std::vector<Session::Feed> feeds;
    for (std::size_t i = 0; i < model.inputs.size(); ++i)
      feeds.emplace_back(model.inputs[i], batch->components.at(i));
    values.add(session.run(fetches, feeds), batch->rows());
  }
  say("{} at step {}: {} examples", checkpoint.name(), checkpoint.step(), values.rows());
  const auto means = values.values();
  for (std::size_t i = 0; i < means.size(); ++i) say(", {} {:.4f}", fragment.values[i], means[i]);
  say("\n");
  return kExitOk;
}

int predict(const Arguments& a) {
  const auto checkpoint = Checkpoint::open(a.checkpoint);
  const auto program = prediction_program(program_of(checkpoint, a.program), a.data);
  const auto model = program.model(false);
  validate(model);
  Session session(model.graph, {.threads = a.threads});
  session.restore(trained_values(checkpoint));
  std::int64_t row = 0;
  BatchIterator batches(*program.test, a.threads);
  while (const auto batch = batches.next()) {
    const auto predictions =
        session.run(model.predictions, {{model.inputs.at(0), batch->components.at(0)}});
    const auto width = predictions.size() / batch->rows();
    for (std::int64_t i = 0; i < batch->rows(); ++i, ++row) {
      if (a.rows > 0 && row == a.rows) return kExitOk;
      std::int64_t best = 0;
      std::string values;
      for (std::int64_t k = 0; k < width; ++k) {
        const double value = predictions.at(i * width + k);
        if (value > predictions.at(i * width + best)) best = k;
        values += fmt::format("{}{:.4g}", k == 0 ? "" : a.json ? "," : " ", value);
      }
      if (a.json)
        say("{{\"row\":{},\"predictions\":[{}]}}\n", row, values);
      else
        say("row {}: {}{}\n", row, values,
            program.classifies ? fmt::format("  -> class {}", best) : "");
    }
  }
  return kExitOk;
}

void add_common(CLI::App& command, Arguments& a) {
  command.add_option("--data", a.data.directory, "cifar10: the directory of test_batch.bin");
  command
      .add_option("checkpoint", a.checkpoint,
                  "A directory (its newest checkpoint), or one checkpoint such as run/x/ckpt-300")
      ->required();
  command.add_option("--program", a.program, "The model, if the checkpoint does not say")
      ->check([](const std::string& name) -> std::string {
        try {
          check_program_name(name);
          return {};
        } catch (const Error& error) {
          return error.what();
        }
      });
  command.add_option("--inter-op", a.threads.inter_op, "Threads that actors run on; 0: all CPUs")
      ->check(at_least(0));
  command.add_option("--intra-op", a.threads.intra_op, "Threads inside one op; 0: all CPUs")
      ->check(at_least(0));
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("eval", "Measure a checkpoint on a test set");
  const auto a = std::make_shared<Arguments>();
  add_common(*command, *a);
  command->add_option("--features,--images,--test-features,--test-images", a->data.test_features,
                      "Features of the test set");
  command->add_option("--labels,--test-labels", a->data.test_labels, "Labels of the test set");
  command->callback([a, &exit_code] { exit_code = eval(*a); });
}

void add_predict(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("predict", "Print what a checkpoint's model predicts");
  const auto a = std::make_shared<Arguments>();
  add_common(*command, *a);
  command->add_option("--features,--images", a->data.test_features, "What to predict from");
  command->add_option("--rows", a->rows, "Rows to print; 0: all")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_flag("--json", a->json, "One JSON object a line");
  command->callback([a, &exit_code] { exit_code = predict(*a); });
}

}  // namespace troupe::cli
