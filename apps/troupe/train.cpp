#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>

#include "commands.h"
#include "programs.h"
#include "progress_line.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/ops/error.h"

namespace troupe::cli {
namespace {

struct TrainArguments {
  std::string program;
  DataArguments data;
  std::string optimizer;
  std::string learning_rate;
  int replicas = 1;
  int shards = 1;
  bool async = false;
  bool deterministic = false;
  std::string placement = "by_bytes";
  double average = 0;
  int inter_op = 0;
  int intra_op = 0;
  std::uint64_t seed = 1;
  std::int64_t steps = -1;
  std::string directory;
  std::int64_t checkpoint_every = -1;
  int keep = 5;
  bool resume = false;
  bool no_checkpoints = false;
  bool no_summaries = false;
  std::int64_t evaluate_every = -1;
  double stop_below = 0;
  double interval = 1;
  bool plan = false;
};

Training* running = nullptr;
volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts > 1 || running == nullptr) _exit(kExitInterrupted);
  constexpr char kNote[] = "\nstopping after this step; Ctrl-C again stops at once\n";
  (void)!write(STDERR_FILENO, kNote, sizeof(kNote) - 1);
  running->request_stop();
}

const char* to_words(Ending ending) {
  switch (ending) {
    case Ending::steps_done:
      return "all steps done";
    case Ending::end_of_data:
      return "end of the data";
    case Ending::goal_met:
      return "goal met";
    case Ending::stopped:
      return "stopped";
    case Ending::failed:
      break;
  }
  return "failed";
}

/// "run/NAME", or "run/NAME-2" and so on while there are checkpoints of earlier
/// runs; the last of those to resume.
std::string own_directory(const std::string& program, bool resume) {
  auto directory = "run/" + program;
  auto used = directory;
  for (int i = 2; CheckpointDirectory(directory).latest(); ++i) {
    used = directory;
    directory = fmt::format("run/{}-{}", program, i);
  }
  return resume ? used : directory;
}

TrainingOptions options_of(const TrainArguments& a, const CLI::App& command,
                           const Program& program) {
  auto o = program.options;
  if (!a.optimizer.empty()) o.optimizer = parse_optimizer(a.optimizer);
  if (!a.learning_rate.empty()) o.learning_rate = parse_schedule(a.learning_rate);
  o.replicas = a.replicas;
  o.shards = a.shards;
  o.synchronous = !a.async;
  o.deterministic = a.deterministic;
  o.placement = parse_variable_placement(a.placement);
  if (command.count("--average") > 0) o.average_decay = a.average;
  o.threads = {a.inter_op, a.intra_op};
  o.seed = a.seed;
  if (a.steps >= 0) o.max_steps = static_cast<std::uint64_t>(a.steps);
  const auto directory = a.directory.empty() ? own_directory(program.name, a.resume) : a.directory;
  if (!a.no_checkpoints) {
    o.checkpoints.directory = directory;
    if (a.checkpoint_every >= 0)
      o.checkpoints.every = static_cast<std::uint64_t>(a.checkpoint_every);
    o.checkpoints.keep = a.keep;
    o.checkpoints.resume = a.resume;
  } else {
    o.checkpoints = {};
  }
  if (!a.no_summaries) o.summary_directory = directory + "/summaries";
  o.evaluation.data = program.test;
  if (a.evaluate_every >= 0) o.evaluation.every = static_cast<std::uint64_t>(a.evaluate_every);
  if (command.count("--stop-below") > 0) {
    if (!std::isfinite(a.stop_below))
      fail(Code::invalid_argument, "--stop-below needs a number, but is ", a.stop_below);
    o.evaluation.stop_below = a.stop_below;
  }
  if (!o.evaluation.data) {
    if (command.count("--stop-below") > 0)
      fail(Code::invalid_argument, "--stop-below needs --test-features and --test-labels");
    o.evaluation = {};
  }
  o.labels = {{"program", program.name}};
  o.progress_interval = std::chrono::milliseconds(static_cast<std::int64_t>(a.interval * 1000));
  return o;
}

std::string values_text(const std::vector<std::string>& names, const std::vector<double>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < names.size(); ++i)
    text += fmt::format("{}{} {:.4f}", i == 0 ? "" : ", ", names[i], values[i]);
  return text;
}

int report(const TrainingOutcome& outcome, const Program& program, const TrainingOptions& options,
           const std::vector<std::string>& names) {
  const double seconds = std::chrono::duration<double>(outcome.elapsed).count();
  fmt::print(
      "{}: step {}, {} samples in {} ({} samples/s), first step after {:.2f} s\n",
      to_words(outcome.ending), with_commas(outcome.steps),
      with_commas(static_cast<std::uint64_t>(outcome.examples)), clock_time(seconds),
      with_commas(static_cast<std::uint64_t>(static_cast<double>(outcome.examples) / seconds)),
      std::chrono::duration<double>(outcome.until_first_step).count());
  if (!outcome.training.empty()) fmt::print("training: {}\n", values_text(names, outcome.training));
  if (!outcome.evaluation.empty())
    fmt::print("test:     {}\n", values_text(names, outcome.evaluation));
  if (!outcome.checkpoint.empty())
    fmt::print("checkpoint: {} (safetensors and a manifest; \"troupe inspect {}\" shows it)\n",
               outcome.checkpoint, outcome.checkpoint);
  if (!options.summary_directory.empty())
    fmt::print("summaries:  {} (tensorboard --logdir {})\n", options.summary_directory,
               options.summary_directory);
  if (outcome.ending == Ending::failed) {
    std::fflush(stdout);
    fmt::print(stderr, "troupe: {}: {}\n", to_string(outcome.code), outcome.message);
    return kExitFailed;
  }
  if (outcome.ending == Ending::stopped) {
    if (!outcome.checkpoint.empty())
      fmt::print("go on with the same command and --resume -d {}\n", options.checkpoints.directory);
    return kExitInterrupted;
  }
  if (!outcome.checkpoint.empty())
    fmt::print(
        "next: troupe eval {0} or predict {0}; --replicas 2 --shards 2 --async trains with "
        "two replicas at once{1}\n",
        options.checkpoints.directory, program.next);
  return kExitOk;
}

int train(const TrainArguments& a, const CLI::App& command) {
  auto data = a.data;
  data.seed = a.seed;
  auto program = training_program(a.program, data);
  auto options = options_of(a, command, program);
  std::vector<std::string> names;
  options.progress =
      [&names, printer = ProgressPrinter(schedulable_cpus())](const Progress& progress) mutable {
        names = progress.names;
        printer(progress);
      };
  Training training(program.model, *program.training, options);
  fmt::print("{}\n", training.describe());
  std::fflush(stdout);
  if (a.plan) return kExitOk;

  running = &training;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  const auto outcome = training.run();
  const auto exit_code = report(outcome, program, options, names);
  const auto left = training.stop(options.patience);
  running = nullptr;
  if (!left.empty()) {
    fmt::print(stderr, "troupe: still running after {} s: {}\n", options.patience.count() / 1000,
               fmt::join(left, ", "));
    std::fflush(stdout);
    _exit(exit_code == kExitOk ? kExitFailed : exit_code);
  }
  return exit_code;
}

void add_data_options(CLI::App& command, DataArguments& data) {
  command
      .add_option("--data", data.directory,
                  "cifar10: the directory of data_batch_*.bin and test_batch.bin")
      ->group("Data");
  command
      .add_option("--features,--images", data.features,
                  "Training features: text files (patterns are fine) or an IDX file")
      ->group("Data");
  command.add_option("--labels", data.labels, "Training labels, in step with the features")
      ->group("Data");
  command.add_option("--test-features,--test-images", data.test_features, "Test features")
      ->group("Data");
  command.add_option("--test-labels", data.test_labels, "Test labels")->group("Data");
  command.add_option("--batch", data.batch, "Rows of a batch, all replicas together")
      ->check(at_least(1))
      ->group("Data");
  command.add_option("--epochs", data.epochs, "Passes over the data; 0 for ever")
      ->check(at_least(0))
      ->group("Data");
  command.add_option("--capacity", data.capacity, "Examples that the shuffle queue holds")
      ->check(at_least(1))
      ->group("Data");
  command
      .add_option("--min-after-dequeue", data.min_after_dequeue,
                  "Examples that stay in the shuffle queue to choose from")
      ->check(at_least(0))
      ->group("Data");
  command.add_option("--decoders", data.decoders, "Decoder actors; 0 for two per CPU")
      ->check(at_least(0))
      ->group("Data");
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("train", "Train a model; Ctrl-C stops with a checkpoint");
  const auto a = std::make_shared<TrainArguments>();
  std::string programs;
  for (const auto& [name, summary] : program_list())
    programs += fmt::format("\n  {}: {}", name, summary);
  command->add_option("program", a->program, "What to train:" + programs)->required();
  add_data_options(*command, a->data);
  command->fallthrough();  // --config is an option of the whole program

  command->add_option("--steps", a->steps, "Stop after so many updates; 0: when the data end")
      ->check(at_least(0))
      ->group("Training");
  command
      ->add_option("--optimizer", a->optimizer,
                   "sgd, momentum(0.9), nesterov(0.9), adagrad, adam, rmsprop(...)")
      ->group("Training");
  command
      ->add_option("--learning-rate", a->learning_rate,
                   "0.1, or a schedule: exponential(0.1, 200, 0.8, staircase), cosine(...), ...")
      ->group("Training");
  command->add_option("--average", a->average, "Decay of a moving average of the weights")
      ->group("Training");
  command->add_option("--seed", a->seed, "Of weights, shuffling, dropout and distortions")
      ->capture_default_str()
      ->group("Training");
  command->add_option("--evaluate-every", a->evaluate_every, "Steps between looks at the test set")
      ->check(at_least(0))
      ->group("Training");
  command->add_option("--stop-below", a->stop_below, "End when the test loss is below this")
      ->group("Training");

  command->add_option("--replicas", a->replicas, "Model replicas that train together")
      ->check(at_least(1))
      ->capture_default_str()
      ->group("Actors");
  command->add_option("--shards", a->shards, "Parameter shards that the variables are spread over")
      ->check(at_least(1))
      ->capture_default_str()
      ->group("Actors");
  command
      ->add_flag("--async,!--sync", a->async,
                 "Each replica updates on its own (default: one update with the mean gradient)")
      ->group("Actors");
  command->add_flag("--deterministic", a->deterministic, "The same bits at every run")
      ->group("Actors");
  command->add_option("--placement", a->placement, "Of variables on shards: by_bytes, round_robin")
      ->capture_default_str()
      ->group("Actors");
  command->add_option("--inter-op", a->inter_op, "Threads that actors run on; 0: all CPUs")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Actors");
  command->add_option("--intra-op", a->intra_op, "Threads inside one op; 0: all CPUs")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Actors");

  command
      ->add_option("--directory,-d", a->directory,
                   "For checkpoints and summaries [run/PROGRAM, -2, -3 ...]")
      ->group("Output");
  command->add_option("--checkpoint-every", a->checkpoint_every, "Steps; 0: one at the end")
      ->check(at_least(0))
      ->group("Output");
  command->add_option("--keep", a->keep, "Checkpoints to keep; 0: all")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Output");
  command->add_flag("--resume", a->resume, "Go on from the newest checkpoint in the directory")
      ->group("Output");
  command->add_flag("--no-checkpoints", a->no_checkpoints, "Write none")->group("Output");
  command->add_flag("--no-summaries", a->no_summaries, "Write no TensorBoard files")
      ->group("Output");
  command->add_option("--progress-interval", a->interval, "Seconds between lines of progress")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str()
      ->group("Output");
  command->add_flag("--plan", a->plan, "Show the topology and its memory bound; train nothing")
      ->group("Output");
  command->callback([a, command, &exit_code] { exit_code = train(*a, *command); });
}

}  // namespace troupe::cli
