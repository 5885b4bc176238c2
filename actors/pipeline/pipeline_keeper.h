#pragma once

#include <string>
#include <vector>

#include "troupe/messages/data_state.h"

namespace troupe {

/// One way into the queue, for whoever keeps a pipeline.
struct KeptLane {
  std::string description;
  SavableReader reader;  ///< none where nobody can say where it goes on: a feed by hand
};

struct PipelineKeeperState {
  static constexpr const char* name = "troupe.keeper";
};

/// Takes snapshots of a pipeline that goes on meanwhile: it has the readers remember what they
/// hand out, asks the queue what it has inside and which blocks it has taken, and then the
/// readers for those that are missing. So the moment of the snapshot is the one at which the
/// queue answers, and nobody is held up.
PipelineKeeper::behavior_type pipeline_keeper(
    PipelineKeeper::stateful_pointer<PipelineKeeperState> self, SavableQueue queue,
    std::vector<KeptLane> lanes);

}  // namespace troupe
