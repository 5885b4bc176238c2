#include "topology_arguments.h"

#include <CLI/CLI.hpp>
#include <optional>

#include <fmt/format.h>

#include "commands.h"
#include "say.h"
#include "troupe/actors/topology/model_catalog.h"
#include "usage_error.h"

namespace troupe::cli {

void add_topology_options(CLI::App& command, TopologyArguments& a) {
  std::string models = "models by name (model { program { name: ... } }):\n";
  for (const auto& format : model_formats())
    models += fmt::format("  {:<16} {}\n", format.name, format.summary);
  command.footer(models + "fields of a file: docs/reference/topology-files.md");
  command.add_option("file", a.file, "A topology in Protobuf's text format (.pbtxt)")->required();
  command
      .add_option("--set", a.settings,
                  "A field instead of what the file says: replicas=4, "
                  "aggregation.policy=async, model.layer[fc1].dense.units=64")
      ->allow_extra_args(false)
      ->check([](const std::string& setting) -> std::string {
        try {
          (void)parse_file_setting(setting);
          return {};
        } catch (const Error& error) {
          return error.what();
        }
      });
}

int with_topology(const TopologyArguments& a, const std::function<int(TopologyFile&)>& work) {
  std::vector<FileSetting> settings;
  for (const auto& setting : a.settings) settings.push_back(parse_file_setting(setting));
  std::optional<TopologyFile> file;
  try {
    file = read_topology(a.file, settings);
  } catch (const FileError& error) {
    for (const auto& problem : error.problems()) complain("troupe: {}", problem);
    return kExitFailed;
  }
  return work(*file);
}

}  // namespace troupe::cli
