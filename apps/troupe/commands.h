#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace troupe::cli {

/// A check for numbers of an option: "must be at least 1, but is 0".
std::function<std::string(const std::string&)> at_least(std::int64_t least);
/// Refuses what is no whole number of 64 bits: "--seed -1" would be one with all bits set.
std::string is_seed(const std::string& text);
/// Refuses what is no number from `least` to `most`.
std::function<std::string(const std::string&)> between(double least, double most);
/// Refuses what is no regular file of at most 1 MiB.
std::string small_file(const std::string& path);

// Each adds a subcommand; running it sets `exit_code`. Errors are thrown.
void add_train(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_graph(CLI::App& app, int& exit_code);
void add_edit(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_eval(CLI::App& app, int& exit_code);
void add_predict(CLI::App& app, int& exit_code);
void add_make_data(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_data(CLI::App& app, int& exit_code);

// Exit codes, also told by --help.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;         ///< the run failed: its first cause is on stderr
inline constexpr int kExitUsage = 2;          ///< the command line is wrong
inline constexpr int kExitInterrupted = 130;  ///< Ctrl-C
inline constexpr int kExitNobodyReads = 141;  ///< as a shell says of SIGPIPE: "| head"

}  // namespace troupe::cli
