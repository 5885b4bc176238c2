#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands.h"
#include "run_control.h"
#include "say.h"

namespace troupe::cli {
namespace {

struct EditArguments {
  std::string run;
  std::vector<std::string> order;
};

int edit(EditArguments a) {
  std::error_code error;
  // The run may have been started elsewhere.
  if (a.order.size() > 1 && a.order[0] == "join")
    a.order[1] = std::filesystem::absolute(a.order[1]).string();
  const auto path = std::filesystem::is_directory(a.run, error) ? control_path(a.run) : a.run;
  say("{}", send_order(path, fmt::format("{}", fmt::join(a.order, " "))));
  return kExitOk;
}

}  // namespace

void add_edit(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("edit", "Look at a run that is going on, and change it");
  const auto a = std::make_shared<EditArguments>();
  command->add_option("run", a->run, "The directory of its checkpoints, or the path of its socket")
      ->required();
  command->add_option("order", a->order, "What to do")->required();
  command->footer("orders:\n" + list_of_orders() +
                  "example: troupe edit run/fashion-mnist policy ssp:2");
  command->callback([a, &exit_code] { exit_code = edit(*a); });
}

}  // namespace troupe::cli
