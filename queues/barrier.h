#pragma once

#include <caf/fwd.hpp>
#include <memory>

#include "troupe/messages/protocol.h"
#include "troupe/queues/barrier_core.h"
#include "troupe/queues/client_watch.h"

namespace troupe {

struct BarrierState {
  static constexpr const char* name = "troupe.barrier";

  explicit BarrierState(caf::scheduled_actor* self) : clients(self) {}
  /// Nobody waits for ever on a barrier that is gone.
  ~BarrierState();

  std::unique_ptr<BarrierCore> core;
  ClientWatch clients;
};

/// Joins elements by their keys; see BarrierCore for the rules. When the options are
/// wrong it is closed from the start with what is wrong as its reason.
Barrier::behavior_type barrier(Barrier::stateful_pointer<BarrierState> self,
                               BarrierOptions options);

}  // namespace troupe
