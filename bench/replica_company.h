#pragma once

#include <caf/typed_event_based_actor.hpp>

#include "troupe/messages/protocol.h"

// Whom a replica talks to, where a benchmark is about nothing of them.

namespace troupe {

/// The same batch for whoever asks, without an end.
inline BatchSource::behavior_type same_batch(BatchSource::pointer, Batch batch) {
  return {[batch](next_atom, std::uint32_t) { return batch; }, [](assign_atom, bool) {},
          [](status_atom) { return StageStatus{}; }};
}

/// Hears of everything, and does nothing.
inline TrainingListener::behavior_type nobody(TrainingListener::pointer) {
  return {[](report_atom, const StepReport&) {}, [](report_atom, const SavedCheckpoint&) {},
          [](report_atom, const TrainingEvent&) {}};
}

}  // namespace troupe
