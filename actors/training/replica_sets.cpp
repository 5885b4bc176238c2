#include "troupe/actors/training/replica_sets.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <iterator>
#include <utility>

#include "troupe/actors/training/replica_course.h"
#include "troupe/actors/training/replica_shards.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ReplicaSelf;
using OptionsPtr = ReplicaOptionsPtr;
using Clock = ReplicaState::Clock;

std::uint32_t batches_of_a_set(const ReplicaState& s) {
  return s.local ? s.instructions.local_steps : std::max(1u, s.instructions.accumulate);
}

/// Sends the mean of what was added up for one part.
void push_accumulated(Self self, const OptionsPtr& options, std::size_t index) {
  auto& s = self->state;
  auto mean = s.accumulated.take(index, s.rows);
  if (!mean) return;
  const auto& part = options->fragment.parts[index];
  GradientPart message;
  message.kind = part.kind;
  message.variable = part.variable;
  message.values = std::move(mean->values);
  message.indices = std::move(mean->indices);
  send_part(self, options, std::move(message));
}

void tell(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  auto& report = s.report;
  report.replica = options->index;
  report.step = s.result.step;
  report.examples = s.rows;
  report.values.clear();
  if (s.rows > 0) report.values = s.values->values();
  report.learning_rate = s.result.learning_rate;
  report.staleness = s.result.staleness;
  report.waited_for_parameters = Clock::now() - s.commit_begun;
  self->send(options->listener, report_atom_v, report);
}

}  // namespace

void begin_set(ReplicaState& s, const ReplicaOptions& options, const Batch& first) {
  s.in_set = true;
  ++s.steps;
  s.order = first.sequence;
  s.batches = 0;
  s.rows = 0;
  auto combines = options.fragment.combines;
  combines.resize(options.fragment.values.size(), Combine::mean);
  s.values.emplace(std::move(combines));
  s.set_begun = Clock::now();
  s.report.waited_for_data = {};
}

void take_output(Self self, const OptionsPtr& options, std::uint32_t index, Tensor& value) {
  auto& s = self->state;
  const auto& part = options->fragment.parts.at(index);
  GradientPart message;
  message.kind = part.kind;
  message.replica = options->index;
  message.step = s.steps;
  message.variable = part.variable;
  auto position = index;
  if (part.kind == PartKind::sparse_gradient) {
    position = part.indices ? index - 1 : index;
    s.sparse_rows[index] = std::move(value);
    auto& rows = s.sparse_rows[position];
    auto& indices = s.sparse_rows[position + 1];
    if (rows.shape() == Shape{0} || indices.shape() == Shape{0}) return;
    message.values = std::move(rows);
    message.indices = std::move(indices);
    rows = Tensor();
    indices = Tensor();
  } else {
    message.values = std::move(value);
  }
  if (s.local) {
    s.local_parts.push_back(std::move(message));
  } else if (batches_of_a_set(s) == 1) {
    send_part(self, options, std::move(message));
  } else {
    s.accumulated.add(position, std::move(message.values), std::move(message.indices),
                      s.batch_rows);
    if (s.batches == batches_of_a_set(s)) push_accumulated(self, options, position);
  }
}

void end_batch(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.batch_rows > 0) {
    s.values->add(*s.fetches, s.batch_rows);
    if (s.local) {
      try {
        s.local->step(std::exchange(s.local_parts, {}));
      } catch (...) {
        return abort_run(self, options, current_failure());
      }
    }
  }
  s.fetches.reset();
  if (s.batches == batches_of_a_set(s)) return complete_set(self, options);
  s.idle_since = Clock::now();
  s.clock.enter(StageActivity::waiting_for_input);
  advance(self, options);
}

void end_batch_if_complete(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.fetches && !s.computing && s.outputs == options->fragment.parts.size())
    end_batch(self, options);
}

void complete_set(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  for (std::size_t i = 0; i < options->fragment.parts.size(); ++i)
    push_accumulated(self, options, i);
  if (s.local && s.rows > 0)
    for (auto& part : s.local->assignments()) send_part(self, options, std::move(part));
  commit(self, options, false);
}

void give_up(Self self, const OptionsPtr& options, Version newest) {
  auto& s = self->state;
  if (!s.running || !s.in_set || s.committed) return;
  if (*std::min_element(s.versions.begin(), s.versions.end()) >= newest) return;
  s.accumulated.clear();
  s.local_parts.clear();
  for (auto& rows : s.sparse_rows) rows = Tensor();
  s.fetches.reset();
  commit(self, options, true);
}

void start_local(ReplicaState& s, const ReplicaOptions& options) {
  auto slots = std::exchange(s.slots, {});
  if (s.instructions.local_steps == 0) return s.local.reset();
  if (!s.local)
    s.local.emplace(LocalParameters::Options{s.title, options.optimizer, options.learning_rate,
                                             options.clip_norm},
                    options.fragment);
  s.local->start(*std::min_element(s.versions.begin(), s.versions.end()), s.parameters,
                 std::move(slots));
}

void end_set(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  const auto fate = s.result.fate;
  s.compressor.settle(fate == SetFate::applied);
  if (options->fragment.loss_scale) {
    try {
      s.loss_scale.note(fate, s.title);
    } catch (...) {
      return abort_run(self, options, current_failure());
    }
  }
  if (fate == SetFate::applied) {
    tell(self, options);
    s.clock.passed_on(static_cast<std::uint64_t>(s.rows), 0);
  }
  if (fate == SetFate::stale || fate == SetFate::given_up)
    s.next.insert(s.next.begin(), std::make_move_iterator(s.kept.begin()),
                  std::make_move_iterator(s.kept.end()));
  s.kept.clear();
  join_pieces(s, *options);
  s.in_set = s.committed = false;
  s.idle_since = Clock::now();
  s.clock.enter(StageActivity::waiting_for_input);
  try {
    start_local(s, *options);
  } catch (...) {
    return abort_run(self, options, current_failure());
  }
  advance(self, options);
}

}  // namespace troupe
