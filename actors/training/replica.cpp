#include "troupe/actors/training/replica.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <iterator>
#include <memory>
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using Self = Replica::stateful_pointer<ReplicaState>;
using OptionsPtr = std::shared_ptr<const ReplicaOptions>;
using Clock = ReplicaState::Clock;

void advance(Self self, const OptionsPtr& options);

void leave_shards(const OptionsPtr& options) {
  for (const auto& shard : options->shards) caf::anon_send(shard, leave_atom_v, options->index);
}

void finish(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.running) return;
  s.running = false;
  s.clock.enter(StageActivity::idle);
  leave_shards(options);
  s.started.deliver(s.steps);
}

void abort(Self self, const OptionsPtr& options, const caf::error& error) {
  auto& s = self->state;
  if (!s.running) return;
  s.running = false;
  s.clock.enter(StageActivity::idle);
  leave_shards(options);
  s.started.deliver(fault(to_error(error).within(s.title)));
}

void take_answer(ReplicaState& s, std::size_t shard, ApplyResult& answer) {
  auto& parameters = answer.parameters;
  s.versions[shard] = parameters.version;
  const auto& feeds = s.feed_of[shard];
  for (std::size_t i = 0; i < feeds.size(); ++i)
    if (feeds[i] >= 0) s.parameters[feeds[i]] = std::move(parameters.values[i]);
  for (auto& slot : parameters.slots) s.slots.push_back(std::move(slot));
  s.instructions = answer.next;
  s.result.fate = answer.fate;
  s.result.learning_rate = answer.learning_rate;
  s.result.staleness = std::max(s.result.staleness, answer.staleness);
  s.result.step = answer.step;
}

/// Learns which shard has which variable.
void meet_shard(ReplicaState& s, const ReplicaOptions& options, std::size_t shard,
                const Parameters& parameters) {
  const auto& wanted = options.fragment.variables;
  for (const auto& name : parameters.names) {
    const auto found = std::find(wanted.begin(), wanted.end(), name);
    s.feed_of[shard].push_back(found == wanted.end() ? -1 : found - wanted.begin());
    s.shard_of[name] = shard;
    for (std::size_t part = 0; part < options.fragment.parts.size(); ++part)
      if (options.fragment.parts[part].variable == name) s.shard_of_part[part] = shard;
  }
}

void ask_for_batch(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.asked || s.next.size() >= options->prefetch || s.at_end || s.stopping) return;
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
            if (code != Code::out_of_range && !(code == Code::cancelled && self->state.stopping))
              return abort(self, options, error);
            advance(self, options);
          });
}

// ---- the end of a set ------------------------------------------------------------------------

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

/// Gets ready to compute with the parameters that have come.
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
  if (fate == SetFate::applied) {
    tell(self, options);
    s.clock.passed_on(static_cast<std::uint64_t>(s.rows), 0);
  }
  if (fate == SetFate::stale || fate == SetFate::given_up)
    s.next.insert(s.next.begin(), std::make_move_iterator(s.kept.begin()),
                  std::make_move_iterator(s.kept.end()));
  s.kept.clear();
  s.in_set = s.committed = false;
  s.idle_since = Clock::now();
  s.clock.enter(StageActivity::waiting_for_input);
  try {
    start_local(s, *options);
  } catch (...) {
    return abort(self, options, current_failure());
  }
  advance(self, options);
}

void commit(Self self, const OptionsPtr& options, bool given_up) {
  auto& s = self->state;
  s.committed = true;
  s.commit_begun = Clock::now();
  s.clock.enter(StageActivity::waiting_for_output);
  s.report.computed = s.commit_begun - s.set_begun;
  s.commits = options->shards.size();
  const GradientCommit common{
      options->index,          s.steps, 0, given_up ? 0 : static_cast<double>(s.rows), s.order,
      s.local ? s.batches : 1, given_up};
  s.result = {};
  // A shard that finds its values unshared updates them in place.
  for (auto& value : s.parameters) value = Tensor();
  for (std::size_t shard = 0; shard < options->shards.size(); ++shard) {
    auto request = common;
    request.version = s.versions[shard];
    self->request(options->shards[shard], caf::infinite, commit_atom_v, request)
        .then(
            [self, options, shard](ApplyResult& answer) {
              auto& s = self->state;
              take_answer(s, shard, answer);
              if (--s.commits == 0 && s.running) end_set(self, options);
            },
            [self, options](caf::error& error) { abort(self, options, error); });
  }
}

// ---- gradients -------------------------------------------------------------------------------

std::uint32_t batches_of_a_set(const ReplicaState& s) {
  return s.local ? s.instructions.local_steps : std::max(1u, s.instructions.accumulate);
}

void send_part(Self self, const OptionsPtr& options, std::size_t shard, GradientPart part) {
  part.replica = options->index;
  part.step = self->state.steps;
  self->send(options->shards[shard], push_atom_v, std::move(part));
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
  send_part(self, options, s.shard_of_part[index], std::move(message));
}

/// The set is whole: pushes what is still here, and commits.
void complete_set(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  for (std::size_t i = 0; i < options->fragment.parts.size(); ++i)
    push_accumulated(self, options, i);
  if (s.local && s.rows > 0)
    for (auto& part : s.local->assignments()) {
      const auto shard = s.shard_of.at(part.variable);
      send_part(self, options, shard, std::move(part));
    }
  commit(self, options, false);
}

void end_batch(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.batch_rows > 0) {
    s.values->add(*s.fetches, s.batch_rows);
    if (s.local) {
      try {
        s.local->step(std::exchange(s.local_parts, {}));
      } catch (...) {
        return abort(self, options, current_failure());
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

/// One streamed output has come.
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
    self->send(options->shards[s.shard_of_part.at(index)], push_atom_v, std::move(message));
  } else {
    s.accumulated.add(position, std::move(message.values), std::move(message.indices),
                      s.batch_rows);
    if (s.batches == batches_of_a_set(s)) push_accumulated(self, options, position);
  }
}

// ---- batches ---------------------------------------------------------------------------------

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
  TensorList feeds;
  try {
    feeds = feeds_for(options->fragment, std::move(batch.components),
                      s.local ? s.local->values() : s.parameters);
  } catch (const Error& error) {
    return abort(self, options, fault(error));
  }
  const auto seed = mix(options->seed ^ mix(batch.sequence + 1));
  s.computing = true;
  const auto run = ++s.runs;
  self->request(options->device, caf::infinite, run_atom_v, s.fragment, seed, std::move(feeds),
                caf::actor_cast<OutputSink>(self), run)
      .then(
          [self, options, run](RunResult& result) {
            auto& s = self->state;
            if (run != s.runs) return;
            s.computing = false;
            if (s.committed || !s.in_set) return advance(self, options);  // given up
            s.fetches = std::move(result.fetches);
            end_batch_if_complete(self, options);
          },
          [self, options](caf::error& error) { abort(self, options, error); });
}

/// No more batches will come, or are wanted.
bool dry(const ReplicaState& s) { return (s.stopping || s.at_end) && s.next.empty(); }

/// Goes on with whatever is possible now.
void advance(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.running || s.computing || s.committed || !s.loaded || s.missing_parameters > 0) return;
  // Between two batches of a set; outputs of the one before may still be on their way.
  if (s.in_set && s.fetches) return;
  if (!s.in_set && (s.stopping || dry(s) || s.instructions.finished)) return finish(self, options);
  if (s.in_set && dry(s)) return complete_set(self, options);
  if (!s.next.empty())
    begin_batch(self, options);
  else
    ask_for_batch(self, options);
}

/// What is being computed would come too late.
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

void load(Self self, const OptionsPtr& options) {
  self->request(options->device, caf::infinite, load_atom_v, options->fragment.spec)
      .then(
          [self, options](FragmentId id) {
            self->state.fragment = id;
            self->state.loaded = true;
            advance(self, options);
          },
          [self, options](caf::error& error) { abort(self, options, error); });
}

void join(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.missing_parameters = options->shards.size();
  for (std::size_t shard = 0; shard < options->shards.size(); ++shard)
    self->request(options->shards[shard], caf::infinite, join_atom_v, options->index)
        .then(
            [self, options, shard](ApplyResult& answer) {
              auto& s = self->state;
              meet_shard(s, *options, shard, answer.parameters);
              take_answer(s, shard, answer);
              if (--s.missing_parameters > 0) return;
              try {
                start_local(s, *options);
              } catch (...) {
                return abort(self, options, current_failure());
              }
              advance(self, options);
            },
            [self, options](caf::error& error) { abort(self, options, error); });
}

}  // namespace

Replica::behavior_type replica(Self self, ReplicaOptions given) {
  const auto options = std::make_shared<const ReplicaOptions>(std::move(given));
  auto& s = self->state;
  s.title = text("replica ", options->index);
  s.feed_of.resize(options->shards.size());
  s.versions.resize(options->shards.size());
  s.parameters.resize(options->fragment.variables.size());
  s.shard_of_part.resize(options->fragment.parts.size());
  s.sparse_rows.resize(options->fragment.parts.size() + 1);
  s.accumulated = GradientAccumulator(options->fragment.parts.size());
  return {
      [self, options](start_atom) -> caf::result<std::uint64_t> {
        auto& s = self->state;
        if (s.running)
          return fault(Code::failed_precondition, s.title, " has been started already");
        s.running = true;
        s.idle_since = Clock::now();
        s.clock.enter(StageActivity::waiting_for_input);
        s.started = self->make_response_promise<std::uint64_t>();
        load(self, options);
        join(self, options);
        ask_for_batch(self, options);
        return s.started;
      },
      [self, options](stop_atom) {
        self->state.stopping = true;
        if (self->state.missing_parameters > 0)  // others have not joined yet, perhaps never
          finish(self, options);
        else
          advance(self, options);
        return caf::ok_atom_v;
      },
      [self](status_atom) { return self->state.clock.read(); },
      [self, options](give_up_atom, Version newest) { give_up(self, options, newest); },
      [self, options](output_atom, std::uint64_t run, std::uint32_t index, Tensor& value) {
        auto& s = self->state;
        if (run != s.runs || s.committed || !s.in_set) return;
        take_output(self, options, index, value);
        ++s.outputs;
        end_batch_if_complete(self, options);
      },
  };
}

}  // namespace troupe
