#include "train_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "commands.h"
#include "say.h"
#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/aggregation/compression.h"
#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "usage_error.h"

namespace troupe::cli {

std::string own_directory(const std::string& program, bool resume) {
  auto directory = "run/" + program;
  auto used = directory;
  for (int i = 2; CheckpointDirectory(directory).latest(); ++i) {
    used = directory;
    directory = fmt::format("run/{}-{}", program, i);
  }
  return resume ? used : directory;
}

namespace {

/// The path of the checkpoint that --resume-from means.
std::string source_of(const TrainArguments& a, const std::string& program) {
  const auto& given = a.resume_from;
  const bool named = given == "last" || given == "best";
  if (!named && given.find_first_not_of("0123456789") != std::string::npos) return given;
  if (named)
    return (a.directory.empty() ? own_directory(program, true) : a.directory) + "/" + given;
  return (a.directory.empty() ? own_directory(program, true) : a.directory) + "/ckpt-" + given;
}

/// A check that an option's text is what `parse` reads.
template <class Parse>
auto parses(Parse parse) {
  return [parse](const std::string& text) -> std::string {
    try {
      parse(text);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
}

void add_data_options(CLI::App& command, DataArguments& data) {
  command
      .add_option("--data", data.directory,
                  "cifar10: the directory of data_batch_*.bin and test_batch.bin")
      ->group("Data");
  command
      .add_flag("--allow-missing", data.allow_missing,
                "cifar10: warn where a data_batch_*.bin is missing, and train on the others")
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

/// The policy with the rule for stale gradients among its options.
std::string policy_text(const TrainArguments& a) {
  if (a.staleness.empty()) return a.policy;
  return a.policy + (a.policy.find(':') == std::string::npos ? ':' : ',') +
         "staleness=" + a.staleness;
}

/// How gradients of several replicas become updates.
void add_aggregation_options(CLI::App& command, TrainArguments& a) {
  std::string policies;
  for (const auto& format : policy_formats())
    policies += fmt::format("\n  {}: {}", format.name, format.summary);
  auto* policy =
      command.add_option("--policy", a.policy, "How gradients become updates:" + policies)
          ->check(parses(make_policy))
          ->capture_default_str()
          ->group("Aggregation");
  auto* async = command
                    .add_flag_callback(
                        "--async", [&a] { a.policy = "async"; }, "--policy async")
                    ->excludes(policy)
                    ->group("Aggregation");
  command
      .add_flag_callback(
          "--sync", [&a] { a.policy = "sync"; }, "--policy sync, the default")
      ->excludes(async)
      ->excludes(policy)
      ->group("Aggregation");
  command
      .add_option("--policy-for", a.policies_for,
                  "Another policy for some variables, NAMES=POLICY, such as 'embedding/*=async'; "
                  "may be given several times")
      ->check(parses([](const std::string& text) { make_policy(parse_policy_group(text).policy); }))
      ->allow_extra_args(false)
      ->group("Aggregation");
  command
      .add_option("--staleness", a.staleness,
                  "Of gradients with async and ssp: keep, drop:N (above N), weight (by 1/(1+N))")
      ->check(parses(parse_staleness))
      ->group("Aggregation");
  command
      .add_option("--accumulate", a.accumulate,
                  "Batches of a replica whose gradients are one, as of a batch so much larger")
      ->check(at_least(1))
      ->capture_default_str()
      ->group("Aggregation");
  command
      .add_option("--clip-norm", a.clip_norm,
                  "Largest norm of all gradients of an update together; 0: any")
      ->check(between(0, 1e30))
      ->capture_default_str()
      ->group("Aggregation");
  command
      .add_option("--compression", a.compression,
                  "Of the gradients that are pushed: none, bfloat16, float16, topk:0.01 (the "
                  "largest hundredth, the rest later)")
      ->check(parses(GradientCompression::parse))
      ->capture_default_str()
      ->group("Aggregation");
  command
      .add_option("--all-reduce", a.all_reduce,
                  "Replicas add up gradients among themselves, and each updates weights of its "
                  "own: ring, tree; none: the shards do that. For --policy sync")
      ->check(CLI::IsMember({"none", "ring", "tree"}))
      ->capture_default_str()
      ->group("Aggregation");
  command
      .add_option("--precision", a.precision,
                  "Of the numbers that are multiplied: float32, bfloat16, float16 (with a scaled "
                  "loss); weights stay float32")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}))
      ->capture_default_str()
      ->group("Aggregation");
  command
      .add_option("--loss-scale", a.loss_scale,
                  "That float16 begins with: a power of two; it follows the gradients from there")
      ->check(between(1, 1073741824))
      ->capture_default_str()
      ->group("Aggregation");
  command
      .add_option("--not-finite", a.not_finite,
                  "Gradients that are not finite: fail, skip (leave them out), ignore")
      ->check(parses(parse_not_finite))
      ->capture_default_str()
      ->group("Aggregation");
  command
      .add_option("--round-deadline", a.round_deadline,
                  "Seconds after which a replica that others wait for is named; 0: never")
      ->check(between(0, 86400))
      ->capture_default_str()
      ->group("Aggregation");
  command
      .add_flag("--leave-out-late", a.leave_out_late,
                "The others then go on without it, until it comes back")
      ->group("Aggregation");
  auto* record = command
                     .add_option("--record", a.record,
                                 "A directory for a recording of the order in which gradients come")
                     ->group("Aggregation");
  command
      .add_option("--replay", a.replay, "Such a directory: go as that run went, to the same bits")
      ->excludes(record)
      ->group("Aggregation");
}

void add_restart_options(CLI::App& command, TrainArguments& a) {
  command
      .add_option(
          "--restarts", a.restarts,
          "Most restarts of lost replicas within the period; 0: the first loss ends the run")
      ->check(between(0, 1e6))
      ->capture_default_str()
      ->group("Actors");
  command
      .add_option("--restart-period", a.restart_period,
                  "Seconds after which a restart does not count any more")
      ->check(between(0.001, 1e9))
      ->capture_default_str()
      ->group("Actors");
  command
      .add_option("--restart-delay", a.restart_delay,
                  "Seconds before the first restart of a replica; each further one waits longer")
      ->check(between(0, 10))
      ->capture_default_str()
      ->group("Actors");
}

}  // namespace

void add_training_options(CLI::App& command, TrainArguments& a) {
  std::string programs;
  for (const auto& [name, summary] : program_list())
    programs += fmt::format("\n  {}: {}", name, summary);
  command.add_option("program", a.program, "What to train:" + programs)
      ->check(parses(check_program_name));
  add_data_options(command, a.data);
  command.fallthrough();  // --config is an option of the whole program

  command.add_option("--steps", a.steps, "Stop after so many updates; 0: when the data end")
      ->check(at_least(0))
      ->group("Training");
  command
      .add_option("--optimizer", a.optimizer,
                  "sgd, momentum(0.9), nesterov(0.9), adagrad, adam, rmsprop(...)")
      ->check(parses([](const std::string& text) { Optimizer{parse_optimizer(text)}; }))
      ->group("Training");
  command
      .add_option("--learning-rate", a.learning_rate,
                  "0.1, or a schedule: exponential(0.1, 200, 0.8, staircase), cosine(...), ...")
      ->check(parses([](const std::string& text) { parse_schedule(text); }))
      ->group("Training");
  command.add_option("--average", a.average, "Decay of a moving average of the weights")
      ->check([](const std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (end != text.c_str() && *end == 0 && value >= 0 && value < 1) return {};
        return "must be at least 0 and below 1, but is " + text;
      })
      ->group("Training");
  command.add_option("--seed", a.data.seed, "Of weights, shuffling, dropout and distortions")
      ->check(is_seed)
      ->capture_default_str()
      ->group("Training");
  command.add_option("--evaluate-every", a.evaluate_every, "Steps between looks at the test set")
      ->check(at_least(0))
      ->group("Training");
  command.add_option("--stop-below", a.stop_below, "End when the test loss is below this")
      ->group("Training");
  command
      .add_option("--best-by", a.best_by,
                  "What the best look at the test set has: the smallest loss, or +accuracy, -rmse")
      ->group("Training");
  command
      .add_option("--patience", a.patience,
                  "End after so many looks in a row that were no better; 0: never")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Training");
  command.add_option("--min-delta", a.min_delta, "What is better by less is no better")
      ->check(between(0, 1e30))
      ->capture_default_str()
      ->group("Training");

  command.add_option("--replicas", a.replicas, "Model replicas that train together")
      ->check(at_least(1))
      ->capture_default_str()
      ->group("Actors");
  command.add_option("--shards", a.shards, "Parameter shards that the variables are spread over")
      ->check(at_least(1))
      ->capture_default_str()
      ->group("Actors");
  command
      .add_option("--max-shard-bytes", a.max_shard_bytes,
                  "Variables of more bytes are cut by rows over the shards; 0: none is")
      ->capture_default_str()
      ->group("Actors");
  command
      .add_option("--backup-shards", a.backup_shards,
                  "Copies of each shard, one of which takes its place when it dies")
      ->check(CLI::Range(0, 8))
      ->capture_default_str()
      ->group("Actors");
  command
      .add_option("--devices", a.devices,
                  "CPU devices that replicas are spread over, each with its own threads")
      ->check(at_least(1))
      ->capture_default_str()
      ->group("Actors");
  add_aggregation_options(command, a);
  add_restart_options(command, a);
  command.add_flag("--deterministic", a.deterministic, "The same bits at every run")
      ->group("Actors");
  command.add_option("--placement", a.placement, "Of variables on shards: by_bytes, round_robin")
      ->check(parses([](const std::string& text) { parse_variable_placement(text); }))
      ->capture_default_str()
      ->group("Actors");
  command.add_option("--inter-op", a.inter_op, "Threads that actors run on; 0: all CPUs")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Actors");
  command.add_option("--intra-op", a.intra_op, "Threads inside one op; 0: all CPUs")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Actors");
}

void add_output_options(CLI::App& command, TrainArguments& a) {
  command
      .add_option("--directory,-d", a.directory,
                  "For checkpoints and summaries [run/PROGRAM, -2, -3 ...]")
      ->group("Output");
  command.add_option("--checkpoint-every", a.checkpoint_every, "Steps; 0: one at the end")
      ->check(at_least(0))
      ->group("Output");
  command.add_option("--keep", a.keep, "Checkpoints to keep; 0: all")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Output");
  command
      .add_option("--keep-best", a.keep_best,
                  "Weights to keep that the test set found best, in DIRECTORY/best")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Output");
  command
      .add_option("--keep-every-hours", a.keep_every_hours,
                  "Keep the first checkpoint of each such time for good; 0: none")
      ->check(between(0, 1e6))
      ->capture_default_str()
      ->group("Output");
  command
      .add_flag("--no-data-state", a.no_data_state,
                "Leave what is on its way from the files out of checkpoints: smaller, but a run "
                "that is resumed begins the data again")
      ->group("Output");
  command
      .add_flag("--data-from-start", a.data_from_start,
                "Resume with the weights alone, and read the data from the beginning")
      ->group("Output");
  auto* resume =
      command.add_flag("--resume", a.resume, "Go on from the newest checkpoint in the directory")
          ->group("Output");
  auto* from =
      command
          .add_option("--resume-from", a.resume_from,
                      "Go on from this one: its step, last, best, or a path such as run/x/ckpt-300")
          ->excludes(resume)
          ->group("Output");
  auto* none = command.add_flag("--no-checkpoints", a.no_checkpoints, "Write none")
                   ->excludes(resume)
                   ->group("Output");
  from->excludes(none);
  command.add_flag("--no-summaries", a.no_summaries, "Write no TensorBoard files")->group("Output");
  command
      .add_option("--control", a.control,
                  "A path for the socket that \"troupe edit\" talks to [control.sock in the "
                  "directory]")
      ->group("Output");
  command.add_option("--progress-interval", a.interval, "Seconds between lines of progress")
      ->check(between(0.1, 3600))
      ->capture_default_str()
      ->group("Output");
}

namespace {

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

}  // namespace

TrainingOptions training_options(const TrainArguments& a, const Program& program) {
  auto o = program.options;
  if (!a.optimizer.empty()) o.optimizer = parse_optimizer(a.optimizer);
  if (!a.learning_rate.empty()) o.learning_rate = parse_schedule(a.learning_rate);
  o.replicas = a.replicas;
  o.shards = a.shards;
  o.max_shard_bytes = a.max_shard_bytes;
  o.backup_shards = a.backup_shards;
  o.devices = a.devices;
  o.aggregation.policy = policy_text(a);
  for (const auto& group : a.policies_for)
    o.aggregation.groups.push_back(parse_policy_group(group));
  o.aggregation.accumulate = a.accumulate;
  o.aggregation.clip_norm = a.clip_norm;
  o.aggregation.compression = a.compression;
  o.aggregation.all_reduce = a.all_reduce;
  o.precision = parse_dtype(a.precision);
  o.loss_scale.initial = a.loss_scale;
  o.aggregation.not_finite = parse_not_finite(a.not_finite);
  o.aggregation.round_deadline = milliseconds_of(a.round_deadline);
  o.aggregation.leave_out_late = a.leave_out_late;
  o.restarts.most = a.restarts;
  o.restarts.period = milliseconds_of(a.restart_period);
  o.restarts.delay = milliseconds_of(a.restart_delay);
  o.aggregation.record = a.record;
  o.aggregation.replay = a.replay;
  o.deterministic = a.deterministic;
  o.placement = parse_variable_placement(a.placement);
  if (a.average >= 0) o.average_decay = a.average;
  o.threads = {a.inter_op, a.intra_op};
  o.seed = a.data.seed;
  if (a.steps >= 0) o.max_steps = static_cast<std::uint64_t>(a.steps);
  const auto directory = a.directory.empty() ? own_directory(program.name, a.resume) : a.directory;
  if (!a.no_checkpoints) {
    o.checkpoints.directory = directory;
    if (a.checkpoint_every >= 0)
      o.checkpoints.every = static_cast<std::uint64_t>(a.checkpoint_every);
    o.checkpoints.keep = a.keep;
    o.checkpoints.keep_best = program.test ? a.keep_best : 0;
    o.checkpoints.keep_every_hours = a.keep_every_hours;
    o.checkpoints.data = !a.no_data_state;
    o.checkpoints.data_from_start = a.data_from_start;
    o.checkpoints.resume = a.resume;
    if (!a.resume_from.empty()) o.checkpoints.resume_from = source_of(a, program.name);
  } else {
    o.checkpoints = {};
  }
  if (!a.no_summaries) o.summary_directory = directory + "/summaries";
  o.evaluation.data = program.test;
  if (a.evaluate_every >= 0) o.evaluation.every = static_cast<std::uint64_t>(a.evaluate_every);
  if (a.stop_below) {
    if (!std::isfinite(*a.stop_below))
      throw UsageError(fmt::format("--stop-below needs a number, but is {}", *a.stop_below));
    o.evaluation.stop_below = a.stop_below;
  }
  o.evaluation.patience = a.patience;
  o.evaluation.min_delta = a.min_delta;
  if (!a.best_by.empty()) {
    const bool signed_name = a.best_by[0] == '+' || a.best_by[0] == '-';
    o.evaluation.best_by = a.best_by.substr(signed_name ? 1 : 0);
    o.evaluation.larger_is_better = a.best_by[0] == '+';
  }
  if (!o.evaluation.data) {
    for (const auto& [given, option] :
         {std::pair(a.stop_below.has_value(), "--stop-below"),
          std::pair(a.patience > 0, "--patience"), std::pair(a.keep_best > 0, "--keep-best"),
          std::pair(!a.best_by.empty(), "--best-by")})
      if (given)
        throw UsageError(fmt::format("{} needs --test-features and --test-labels", option));
    o.evaluation = {};
  }
  o.labels = {{"program", program.name}};
  o.progress_interval = std::chrono::milliseconds(static_cast<std::int64_t>(a.interval * 1000));
  o.events = o.stalled = [](const std::string& words) {
    std::fputs("\n", stderr);  // behind the line of progress
    complain("troupe: {}", words);
  };
  return o;
}

}  // namespace troupe::cli
