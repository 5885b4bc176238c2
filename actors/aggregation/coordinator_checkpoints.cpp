#include "troupe/actors/aggregation/coordinator_checkpoints.h"

#include <caf/typed_event_based_actor.hpp>
#include <string>
#include <utility>

#include "troupe/actors/aggregation/coordinator_decisions.h"
#include "troupe/actors/aggregation/coordinator_halts.h"
#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using Self = CoordinatorSelf;

void expect_written(Self self, const CoordinatorOptions& options) {
  if (!options.book) return;
  if (self->state.leading().over()) return self->state.backlog.open();
  const auto version = self->state.leading().version();
  self->state.backlog.add(version);
  self->request(options.book, caf::infinite, expect_atom_v, version)
      .then(
          [self, options, version](caf::ok_atom) {
            self->state.backlog.written(version);
            go_on_from_backlog(self, options);
          },
          [](const caf::error&) {});  // it has ended, which is told otherwise
}

}  // namespace

AggregationStatus status_of(CoordinatorState& s) {
  auto status = s.leading().status();
  for (std::size_t i = 1; i < s.groups.size(); ++i) {
    status.groups.push_back(s.groups[i].rounds->status());
    status.groups.back().variables = s.groups[i].variables;
  }
  return status;
}

void restore(CoordinatorState& s, const AggregationStatus& status) {
  s.leading().restore(status);
  for (const auto& before : status.groups)
    for (auto& group : s.groups)
      if (group.variables == before.variables) group.rounds->restore(before);
}

void cut(Self self, const std::function<void(DataState)>& take) {
  auto& s = self->state;
  auto status = status_of(s);
  const auto without = [version = status.version, take](std::string why) {
    DataState state;
    state.version = version;
    state.missing = std::move(why);
    take(std::move(state));
  };
  if (!s.keeper) return without("nobody keeps the data");
  self->request(s.keeper, caf::infinite, cut_atom_v, std::move(status))
      .then([take](DataState& state) { take(std::move(state)); },
            [without](const caf::error& why) { without(to_error(why).what()); });
}

void keep_memories(Self self, const CoordinatorOptions& options) {
  auto memories = self->state.memories.all();
  if (options.book && !memories.empty())
    self->send(options.book, snapshot_atom_v, self->state.leading().version(), std::move(memories));
}

void keep_data(Self self, const CoordinatorOptions& options) {
  expect_written(self, options);
  if (!options.sink) return;
  cut(self, [self, sink = options.sink](DataState state) {
    self->send(sink, snapshot_atom_v, std::move(state));
  });
}

void go_on_from_backlog(Self self, const CoordinatorOptions& options) {
  self->state.waited_for.clear();  // nobody was late by the time that the disk took
  decide(self, options);
  catch_up(self, options);
}

void stop_waiting_for_disk(Self self, const CoordinatorOptions& options) {
  self->state.backlog.open();
  go_on_from_backlog(self, options);
}

void tell_of_disk(Self self, const CoordinatorOptions& options) {
  if (!self->state.backlog.full() || std::exchange(self->state.told_of_disk, true)) return;
  tell(self, options,
       text("checkpoints fall due (every ", options.snapshot_every,
            options.snapshot_every == 1 ? " step" : " steps",
            ") faster than they are written: training waits for the disk"));
}

}  // namespace troupe
