#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/messages/protocol.h"

namespace troupe {

class EventWriter;

struct SummaryOptions {
  std::string directory;
  std::vector<std::string> training_names;    ///< of the values of steps
  std::vector<std::string> evaluation_names;  ///< of the values of evaluations
};

struct SummaryState {
  static constexpr const char* name = "troupe.summaries";
  std::shared_ptr<EventWriter> training;
  std::shared_ptr<EventWriter> evaluation;
};

/// Writes TensorBoard event files: "<directory>/train" has the values of each
/// step, the learning rate, examples and staleness; "<directory>/test" those of
/// evaluations. Spawn it detached: it writes files. A disk that refuses ends the
/// actor with the reason.
SummaryWriter::behavior_type summary_writer(SummaryWriter::stateful_pointer<SummaryState> self,
                                            SummaryOptions options);

}  // namespace troupe
