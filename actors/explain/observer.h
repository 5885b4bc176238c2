#pragma once

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/explain/observations.h"
#include "troupe/messages/protocol.h"

namespace troupe {

struct ObserverOptions {
  Topology topology;
  std::vector<caf::actor> actors;  ///< of its nodes; they answer (status)
  ShardKeeper keeper;  ///< says which copies take the place of shards that die; may be none
  std::chrono::milliseconds interval{1000};        ///< between samples; less in the first seconds
  std::chrono::milliseconds stalled_after{10000};  ///< without any movement
  /// Told once each time that nothing has moved for so long, with the reason.
  std::function<void(const std::string&)> stalled;
};

/// Asks the actors of a topology how they are doing, again and again.
///   (start)  -> ok
///   (assign, name, actor, like)   that actor has taken the place of the one called so; when there
///                                 is none, it is one more, of the role and the links of the first
///                                 one whose name begins with `like`
///   (status) -> observations
using Observer = caf::typed_actor<caf::replies_to<start_atom>::with<caf::ok_atom>,
                                  caf::reacts_to<assign_atom, std::string, caf::actor, std::string>,
                                  caf::replies_to<status_atom>::with<ObservationsPtr>>;

struct ObserverState {
  static constexpr const char* name = "troupe.observer";
  using TimePoint = std::chrono::steady_clock::time_point;

  TimePoint begun;
  Topology topology;
  std::vector<caf::actor> actors;  ///< here, because a tick under way keeps the behaviour alive
  std::vector<NodeSample> latest;
  std::vector<NodeSample> before;               ///< what those have done whose places were taken
  std::vector<std::optional<TimePoint>> asked;  ///< since when a node owes an answer
  std::vector<bool> gone;
  std::size_t missing = 0;  ///< answers of this round
  bool in_round = false;
  std::vector<Sample> samples;
  std::chrono::nanoseconds spacing{0};  ///< between the samples that are kept
  std::optional<Sample> quiet_since;    ///< the first of the samples between which nothing moved
  std::vector<Stall> stalls;
  bool told = false;
};

/// Each round is one status message to each actor; nobody is asked again before
/// it has answered, and nobody waits for it. The first seconds are looked at four
/// times a second. At most 128 samples are kept: of a longer run every second one
/// is forgotten, again and again.
///
/// Whoever takes the place of another goes on with its counters. One that comes later is in the
/// samples before it as well, with nothing done and the time of its coming.
Observer::behavior_type observer(Observer::stateful_pointer<ObserverState> self,
                                 ObserverOptions options);

}  // namespace troupe

// These stay inside the process.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ObservationsPtr)
