#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/topology/topology_file.h"

namespace CLI {
class App;
}

namespace troupe::cli {

/// Which topology file is meant, and what is said instead of what it says.
struct TopologyArguments {
  std::string file;
  std::vector<std::string> settings;
};

void add_topology_options(CLI::App& command, TopologyArguments& a);

/// Calls `work` with the file. Says all that is wrong with it, a line for each, and returns the
/// exit code for that.
int with_topology(const TopologyArguments& a, const std::function<int(TopologyFile&)>& work);

}  // namespace troupe::cli
