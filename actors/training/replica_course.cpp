#include "troupe/actors/training/replica_course.h"

#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <utility>

#include "troupe/actors/supervision/supervision.h"
#include "troupe/actors/training/replica_rows.h"
#include "troupe/actors/training/replica_sets.h"
#include "troupe/actors/training/replica_shards.h"
#include "troupe/messages/answer.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using Self = ReplicaSelf;
using OptionsPtr = ReplicaOptionsPtr;
using Clock = ReplicaState::Clock;

void leave_shards(const ReplicaState& s, const OptionsPtr& options) {
  for (const auto& shard : s.shards) caf::anon_send(shard.handle, leave_atom_v, options->index);
}

void begin_batch(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  auto batch = std::move(s.next.front());
  s.next.pop_front();
  if (!s.in_set) begin_set(s, *options, batch);
  ++s.batches;
  s.batch_rows = batch.rows();
  s.rows += s.batch_rows;
  s.outputs = 0;
  s.fetches.reset();
  s.clock.enter(StageActivity::busy);
  s.report.waited_for_data += Clock::now() - s.idle_since;
  ask_for_batch(self, options);  // the next ones, while this one is computed
  if (s.instructions.may_be_refused) s.kept.push_back(batch);

  if (s.batch_rows == 0) {
    s.fetches.emplace();
    return end_batch(self, options);
  }
  s.seed = mix(options->seed ^ mix(batch.sequence + 1));
  s.batch = std::move(batch);
  s.computing = true;
  ++s.runs;
  compute_batch(self, options);
}

/// No more batches will come, or are wanted.
bool dry(const ReplicaState& s, const ReplicaOptions& options) {
  return (s.at_end || (s.stopping && !options.whole_sets)) && s.next.empty();
}

}  // namespace

void finish(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.running) return;
  s.running = false;
  s.clock.enter(StageActivity::idle);
  const auto missing = std::make_shared<std::size_t>(s.shards.size());
  const auto count = [self, missing] {
    if (--*missing == 0) self->state.started.deliver(self->state.steps);
  };
  for (const auto& shard : s.shards)
    self->request(shard.handle, caf::infinite, leave_atom_v, options->index)
        .then([count](caf::ok_atom) { count(); }, [count](caf::error&) { count(); });
}

void abort_run(Self self, const OptionsPtr& options, const caf::error& error) {
  auto& s = self->state;
  if (!s.running) return;
  s.running = false;
  s.clock.enter(StageActivity::idle);
  // In the place of one that has failed otherwise another may be started: then it is lost, and
  // has not left.
  if (repeats_itself(code_of(error))) leave_shards(s, options);
  s.started.deliver(fault(to_error(error).within(s.title)));
}

void ask_for_batch(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.running || s.asked || s.next.size() >= options->prefetch || s.at_end) return;
  if (s.stopping && !options->whole_sets) return;
  s.asked = true;
  self->request(options->batches, caf::infinite, next_atom_v, options->index)
      .then(
          [self, options](Batch& batch) {
            self->state.asked = false;
            self->state.next.push_back(std::move(batch));
            advance(self, options);
            ask_for_batch(self, options);
          },
          [self, options](caf::error& error) {
            self->state.asked = false;
            self->state.at_end = true;
            const auto code = code_of(error);
            self->state.cut_off = code != Code::out_of_range;
            if (code != Code::out_of_range && !(code == Code::cancelled && self->state.stopping))
              return abort_run(self, options, error);
            advance(self, options);
          });
}

void advance(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.running || s.computing || s.committed || !s.loaded || s.missing_parameters > 0 ||
      !s.remembers)
    return;
  // Between two batches of a set; outputs of the one before may still be on their way.
  if (s.in_set && s.fetches) return;
  const bool stops = s.stopping && !options->whole_sets;
  if (!s.in_set && (stops || dry(s, *options) || s.instructions.finished))
    return finish(self, options);
  if (s.in_set && dry(s, *options))
    return options->whole_sets && s.cut_off ? finish(self, options) : complete_set(self, options);
  if (!s.next.empty())
    begin_batch(self, options);
  else
    ask_for_batch(self, options);
}

}  // namespace troupe
