#pragma once

#include <string>

#include "troupe/actors/topology/topology_file.h"

namespace troupe::cli {

/// What the command line says about a run of a topology file.
struct RunArguments {
  std::string directory;  ///< empty for the file's
  bool resume = false;
  bool no_checkpoints = false;
  bool no_summaries = false;
  std::string control;  ///< the path of the run's socket; empty for its directory's
  double interval = 0;  ///< seconds between lines of progress; 0 for the file's
};

/// Fills in what the file does not say: where the run keeps its files, how often and to whom it
/// speaks; of members of an ensemble, too.
void complete(TopologyFile& file, const RunArguments& a);

/// Calls `make`, whose errors are those of the file as a whole.
template <class Make>
auto of_file(const TopologyFile& file, Make make) {
  try {
    return make();
  } catch (const Error& error) {
    throw error.within(file.path);
  }
}

}  // namespace troupe::cli
