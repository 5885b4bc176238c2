// The command line: troupe train | eval | predict | make-data | inspect.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "commands.h"
#include "troupe/ops/error.h"

namespace {

constexpr const char* kExamples = R"(examples:
  troupe train fashion-mnist                         a CNN on Fashion-MNIST, to 0.9 in a few minutes
  troupe train fashion-mnist --replicas 2 --shards 2 --async
  troupe make-data headline --samples 20000 --directory data
  troupe train headline --features data/features.txt --labels data/labels.txt \
                        --test-features data/test_features.txt --test-labels data/test_labels.txt
  troupe eval run/fashion-mnist                      the newest checkpoint on the test set
  troupe predict run/fashion-mnist --rows 5
  troupe inspect run/fashion-mnist                   what is in a checkpoint

exit codes: 0 done, 1 failed (the first cause is on stderr), 2 wrong command line, 130 interrupted
"troupe COMMAND --help" explains every option; --config FILE reads them from a file.)";

}  // namespace

int main(int argc, char** argv) {
  using namespace troupe;
  CLI::App app{"Troupe: asynchronous, actor-based training in C++", "troupe"};
  app.footer(kExamples);
  app.require_subcommand(1);
  app.set_version_flag("--version", "troupe " TROUPE_VERSION);
  app.failure_message(CLI::FailureMessage::simple);
  app.set_config("--config", "", "Read options from a file: a line [train], then name=value");
  app.allow_config_extras(CLI::config_extras_mode::error);
  // A pipe that closes must not end a training run without a checkpoint.
  std::signal(SIGPIPE, SIG_IGN);
  int exit_code = cli::kExitOk;
  cli::add_train(app, exit_code);
  cli::add_eval(app, exit_code);
  cli::add_predict(app, exit_code);
  cli::add_make_data(app, exit_code);
  cli::add_inspect(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) != 0) return cli::kExitUsage;
  } catch (const Error& error) {
    std::fprintf(stderr, "troupe: %s: %s\n", std::string(to_string(error.code())).c_str(),
                 error.what());
    return cli::kExitFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troupe: %s\n", error.what());
    return cli::kExitFailed;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "troupe: cannot write to standard output\n");
    if (exit_code == cli::kExitOk) exit_code = cli::kExitFailed;
  }
  return exit_code;
}
