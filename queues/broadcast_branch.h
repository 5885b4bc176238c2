#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "troupe/messages/broadcast.h"

namespace troupe {

struct BranchOptions {
  std::string name = "branch";  ///< for messages
  Broadcast broadcast;          ///< that somebody has it join
  std::int64_t batch = 1;       ///< rows, as the broadcast takes them
  bool saves = false;           ///< somebody will want a snapshot after the close
};

struct BranchState {
  static constexpr const char* name = "troupe.branch";
  /// Nobody waits for ever on a branch that is gone.
  ~BranchState();
  std::deque<caf::typed_response_promise<Batch>> waiting;
  bool asked = false;
  bool closed = false;
  std::vector<Batch> late;  ///< it came for somebody who had gone
  std::optional<PipelineSnapshot> last;
  caf::error no_last;  ///< why there is none
  std::vector<caf::typed_response_promise<PipelineSnapshot>> want_last;
  caf::error end;
  QueueStatus status;
};

/// One branch of a broadcast as a queue: for those who take batches out of one. A dequeue
/// must want the rows of a whole batch and have no time limit. Nothing can be put in. When it
/// is closed it leaves the broadcast, and whoever wants a batch is told the reason.
Branch::behavior_type broadcast_branch(Branch::stateful_pointer<BranchState> self,
                                       BranchOptions options);

}  // namespace troupe
