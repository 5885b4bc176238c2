// The command line: troupe train | run | plan | graph | edit | explain | eval | predict | make-data
// | inspect | data.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "commands.h"
#include "say.h"
#include "usage_error.h"

namespace {

constexpr const char* kExamples = R"(examples:
  troupe train fashion-mnist                         a CNN on Fashion-MNIST, to 0.9 in a few minutes
  troupe train fashion-mnist --replicas 2 --shards 2 --async
  troupe explain fashion-mnist                       what limits that run, and what to do about it
  troupe plan fashion.pbtxt --explain                what a topology file would start, and why
  troupe run fashion.pbtxt --set replicas=2          train what it describes
  troupe edit run/fashion-mnist policy ssp:2         change a run that is going on
  troupe make-data headline --samples 20000 --directory data
  troupe train headline --features data/features.txt --labels data/labels.txt \
                        --test-features data/test_features.txt --test-labels data/test_labels.txt
  troupe eval run/fashion-mnist                      the newest checkpoint on the test set
  troupe predict run/fashion-mnist --rows 5
  troupe inspect run/fashion-mnist                   what is in a checkpoint
  troupe data train.pbtxt --batches 3                what a pipeline file gives

exit codes: 0 done, 1 failed (the first cause is on stderr), 2 wrong command line, 130 interrupted,
141 nobody reads the output any more
"troupe COMMAND --help" explains every option; --config FILE reads them from a file.)";

/// Says so when the first word is no command; CLI11 would only say that it needs one.
bool is_unknown_command(const CLI::App& app, int argc, char** argv) {
  using namespace troupe::cli;
  if (argc < 2 || argv[1][0] == '-') return false;
  const std::string word = argv[1];
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return false;
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  complain("troupe: unknown command '{}'{} (there are: {})", word, troupe::suggestion(word, names),
           all);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace troupe;
  CLI::App app{"Troupe: asynchronous, actor-based training in C++", "troupe"};
  app.footer(kExamples);
  app.require_subcommand(1);
  app.set_version_flag("--version", "troupe " TROUPE_VERSION);
  app.failure_message(CLI::FailureMessage::simple);
  app.set_config("--config", "", "Read options from a file: a line [train], then name=value")
      ->check(cli::small_file);
  app.allow_config_extras(CLI::config_extras_mode::error);
  // A pipe that closes must not end a training run without a checkpoint, and a file that may
  // not grow is an error like a full disk.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  int exit_code = cli::kExitOk;
  cli::add_train(app, exit_code);
  cli::add_run(app, exit_code);
  cli::add_plan(app, exit_code);
  cli::add_graph(app, exit_code);
  cli::add_edit(app, exit_code);
  cli::add_explain(app, exit_code);
  cli::add_eval(app, exit_code);
  cli::add_predict(app, exit_code);
  cli::add_make_data(app, exit_code);
  cli::add_inspect(app, exit_code);
  cli::add_data(app, exit_code);
  if (is_unknown_command(app, argc, argv)) return cli::kExitUsage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) != 0) return cli::kExitUsage;
  } catch (const cli::UsageError& error) {
    cli::complain("troupe: {}", cli::in_plain_words(error.what()));
    return cli::kExitUsage;
  } catch (const Error& error) {
    cli::complain("troupe: {}: {}", to_string(error.code()), cli::in_plain_words(error.what()));
    return cli::kExitFailed;
  } catch (const cli::NobodyReads&) {
    return cli::kExitNobodyReads;
  } catch (const std::exception& error) {
    cli::complain("troupe: {}", error.what());
    return cli::kExitFailed;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    const bool quiet = cli::nobody_reads();
    if (!quiet) cli::complain("troupe: cannot write to standard output");
    if (exit_code == cli::kExitOk) exit_code = quiet ? cli::kExitNobodyReads : cli::kExitFailed;
  }
  return exit_code;
}
