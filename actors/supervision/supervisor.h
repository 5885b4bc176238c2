#pragma once

#include <caf/actor.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/supervision/supervision.h"
#include "troupe/actors/training/progress.h"
#include "troupe/messages/protocol.h"

namespace troupe {

/// A child of a supervisor.
struct ChildSpec {
  std::string name;
  /// Starts it; the argument counts how often that was done before.
  std::function<caf::actor(std::uint32_t incarnation)> start;
  Strategy strategy = Strategy::one_for_one;
  Lifetime lifetime = Lifetime::transient;
};

struct SupervisorOptions {
  std::vector<ChildSpec> children;  ///< started in this order, ended in the reverse one
  RestartOptions restarts;
  EventListener events;  ///< hears of every loss and every restart; may be empty
};

/// Keeps its children running.
///   (report, child, line)  a line for the report if that child is lost
///   (status) -> names     of the children that run now, in their order
using Supervisor = caf::typed_actor<caf::reacts_to<report_atom, std::string, std::string>,
                                    caf::replies_to<status_atom>::with<std::vector<std::string>>>;

struct SupervisorState {
  static constexpr const char* name = "troupe.supervisor";

  struct Running {
    caf::actor actor;
    std::uint32_t incarnation = 0;
  };
  /// Children that are started again together.
  struct Restart {
    std::vector<std::string> children;
    std::set<caf::actor_addr> ending;  ///< those that have not ended yet
    Supervision::TimePoint due;
  };

  std::optional<Supervision> rules;
  std::map<std::string, Running> running;
  std::map<std::string, std::uint32_t> starts;
  std::vector<Restart> restarts;
};

/// Starts its children, watches them, and starts again those that are lost, by the strategy of
/// each, as often as the budget allows. When that is exhausted, when a failure would only
/// repeat itself or when a child escalates, it ends its children and then itself, with the
/// whole story as its reason: a supervisor may be the child of another.
Supervisor::behavior_type supervisor(Supervisor::stateful_pointer<SupervisorState> self,
                                     SupervisorOptions options);

}  // namespace troupe
