#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "programs.h"
#include "say.h"
#include "together.h"
#include "troupe/actors/checkpoint/trained_values.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/session.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/ops/error.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

struct Arguments : TogetherRun {
  std::int64_t rows = 10;
  bool json = false;
};

int eval(const Arguments& a) {
  if (a.checkpoints.size() > 1) {
    eval_together(a);
    return kExitOk;
  }
  const auto checkpoint = Checkpoint::open(a.checkpoints.at(0));
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

/// Prints predictions as they come.
class RowPrinter {
 public:
  explicit RowPrinter(const Arguments& a) : rows_(a.rows), json_(a.json) {}

  /// False once there are enough.
  bool print(const Program& program, const Tensor& predictions) {
    const auto rows = predictions.shape().rank() == 0 ? 1 : predictions.shape()[0];
    const auto width = rows == 0 ? 0 : predictions.size() / rows;
    for (std::int64_t i = 0; i < rows; ++i, ++row_) {
      if (rows_ > 0 && row_ == rows_) return false;
      std::int64_t best = 0;
      std::string values;
      for (std::int64_t k = 0; k < width; ++k) {
        const double value = predictions.at(i * width + k);
        if (value > predictions.at(i * width + best)) best = k;
        values += fmt::format("{}{:.4g}", k == 0 ? "" : json_ ? "," : " ", value);
      }
      if (json_)
        say("{{\"row\":{},\"predictions\":[{}]}}\n", row_, values);
      else
        say("row {}: {}{}\n", row_, values,
            program.classifies ? fmt::format("  -> class {}", best) : "");
    }
    return true;
  }

 private:
  std::int64_t rows_;
  bool json_;
  std::int64_t row_ = 0;
};

int predict(const Arguments& a) {
  RowPrinter printer(a);
  if (a.checkpoints.size() > 1) {
    predict_together(a, [&](const Program& program, const Tensor& predictions) {
      return printer.print(program, predictions);
    });
    return kExitOk;
  }
  const auto checkpoint = Checkpoint::open(a.checkpoints.at(0));
  const auto program = prediction_program(program_of(checkpoint, a.program), a.data);
  const auto model = program.model(false);
  validate(model);
  Session session(model.graph, {.threads = a.threads});
  session.restore(trained_values(checkpoint));
  BatchIterator batches(*program.test, a.threads);
  while (const auto batch = batches.next()) {
    const auto predictions =
        session.run(model.predictions, {{model.inputs.at(0), batch->components.at(0)}});
    if (!printer.print(program, predictions)) break;
  }
  return kExitOk;
}

void add_common(CLI::App& command, Arguments& a) {
  command.add_option("--data", a.data.directory, "cifar10: the directory of test_batch.bin");
  command
      .add_option("checkpoint", a.checkpoints,
                  "A directory (its newest checkpoint), or one checkpoint such as run/x/ckpt-300; "
                  "several answer together")
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
  auto* command = app.add_subcommand("eval", "Measure checkpoints on a test set");
  const auto a = std::make_shared<Arguments>();
  add_common(*command, *a);
  add_together_options(*command, a->together, false);
  command->add_option("--features,--images,--test-features,--test-images", a->data.test_features,
                      "Features of the test set");
  command->add_option("--labels,--test-labels", a->data.test_labels, "Labels of the test set");
  command->callback([a, &exit_code] { exit_code = eval(*a); });
}

void add_predict(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "predict", "Print what a checkpoint's model predicts, or several together");
  const auto a = std::make_shared<Arguments>();
  add_common(*command, *a);
  add_together_options(*command, a->together, true);
  command->add_option("--features,--images", a->data.test_features, "What to predict from");
  command->add_option("--rows", a->rows, "Rows to print; 0: all")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_flag("--json", a->json, "One JSON object a line");
  command->callback([a, &exit_code] { exit_code = predict(*a); });
}

}  // namespace troupe::cli
