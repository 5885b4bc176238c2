#include "troupe/actors/training/lost_leaders.h"

#include <caf/send.hpp>

namespace troupe {

TrainingOutcome outcome_without_conductor(Casting c, const Error& why) {
  for (const auto& [name, actor] : c.troupe.members())
    if (name.starts_with("replica ")) caf::anon_send_exit(actor, caf::exit_reason::kill);
  TrainingOutcome outcome;
  outcome.ending = Ending::failed;
  outcome.code = why.code();
  outcome.message = text(why.what(), "; what the run has done is not known without it");
  if (!c.options.checkpoints.directory.empty())
    outcome.message += ": go on from the last checkpoint";
  return outcome;
}

ObservationsPtr last_observations(Casting c, const Observer& observer) {
  try {
    return c.troupe.ask<ObservationsPtr>(observer, c.options.patience, status_atom_v);
  } catch (const Error& error) {
    if (c.options.events)
      c.options.events(text("there is nothing to explain about this run: ", error.what()));
    return nullptr;
  }
}

}  // namespace troupe
