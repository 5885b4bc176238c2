#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "interrupt.h"
#include "say.h"
#include "train_arguments.h"
#include "troupe/actors/system_error.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

struct ExplainArguments {
  TrainArguments train;
  double seconds = 10;
  std::string json;  ///< a file, "-" for stdout, empty for none
};

void write_json(const std::string& path, const std::string& json) {
  if (path == "-") {
    (void)std::fwrite(json.data(), 1, json.size(), stdout);
    return;
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json << std::flush;
  if (!file) system_error("write", path);
}

int explain(const ExplainArguments& given, bool threads) {
  auto a = given.train;
  if (a.program.empty()) throw UsageError("explain needs a program: troupe explain fashion-mnist");
  // A look at a run leaves nothing behind unless it is told where.
  if (a.directory.empty()) a.no_checkpoints = a.no_summaries = true;
  const auto program = preparing([&] { return training_program(a.program, a.data); });
  auto options = training_options(a, program);
  constexpr std::chrono::milliseconds kLook{100};
  options.progress_interval = kLook;
  Training* running = nullptr;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<std::int64_t>(1000 * given.seconds));
  options.progress = [&running, end](const Progress&) {
    if (running != nullptr && std::chrono::steady_clock::now() >= end) running->request_stop();
  };
  const auto training = preparing(
      [&] { return std::make_unique<Training>(program.model, *program.training, options); });
  running = training.get();
  const bool only_json = given.json == "-";
  if (!only_json) {
    note("{}\nrunning for {:g} s\n\n", training->describe(), given.seconds);
    std::fflush(stdout);
  }

  bool interrupted = false;
  const auto outcome = run_until_interrupted(*training, interrupted);
  if (outcome.ending == Ending::failed) {
    complain("troupe: {}: {}", to_string(outcome.code), in_plain_words(outcome.message));
    return stop_training(*training, options, kExitFailed);
  }
  const auto explanation = training->explain();
  if (!given.json.empty()) write_json(given.json, to_json(explanation, KnobStyle::flags));
  if (!only_json && threads) note("{}", thread_table(explanation));
  if (!only_json && !threads)
    note("{}\n{}", activity_table(explanation), summary(explanation, KnobStyle::flags));
  return stop_training(*training, options, interrupted ? kExitInterrupted : kExitOk);
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "explain", "Run a job for a while and say what limits it, and what to do about it");
  const auto a = std::make_shared<ExplainArguments>();
  add_training_options(*command, a->train);
  add_output_options(*command, a->train);
  command->add_option("--seconds", a->seconds, "How long to run")
      ->check(between(1, 86400))
      ->capture_default_str()
      ->group("Output");
  command->add_option("--json", a->json, "Write everything as JSON to this file; -: to stdout")
      ->group("Output");
  command->require_subcommand(0, 1);
  auto* threads = command->add_subcommand(
      "threads", "Every thread of the process, who owns it and what it uses");
  threads->fallthrough();
  command->callback([a, threads, &exit_code] { exit_code = explain(*a, threads->parsed()); });
}

}  // namespace troupe::cli
