#include "troupe/actors/training/replica.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <memory>

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

void take_parameters(ReplicaState& s, std::size_t shard, Parameters& parameters) {
  s.versions[shard] = parameters.version;
  const auto& feeds = s.feed_of[shard];
  for (std::size_t i = 0; i < feeds.size(); ++i)
    if (feeds[i] >= 0) s.parameters[feeds[i]] = std::move(parameters.values[i]);
}

/// Learns which shard has which variable.
void meet_shard(ReplicaState& s, const ReplicaOptions& options, std::size_t shard,
                const Parameters& parameters) {
  const auto& wanted = options.fragment.variables;
  for (const auto& name : parameters.names) {
    const auto found = std::find(wanted.begin(), wanted.end(), name);
    s.feed_of[shard].push_back(found == wanted.end() ? -1 : found - wanted.begin());
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

void tell(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  auto& report = s.report;
  report.replica = options->index;
  report.step = *std::min_element(s.versions.begin(), s.versions.end());
  report.examples = s.rows;
  report.values.clear();
  if (s.fetches)
    for (const auto& value : *s.fetches) report.values.push_back(value.item());
  report.waited_for_parameters = Clock::now() - s.commit_begun;
  self->send(options->listener, report_atom_v, report);
}

void end_step(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  tell(self, options);
  s.computing = false;
  s.fetches.reset();
  s.idle_since = Clock::now();
  s.clock.enter(StageActivity::waiting_for_input);
  s.clock.passed_on(static_cast<std::uint64_t>(s.rows), 0);
  advance(self, options);
}

void commit(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.commit_begun = Clock::now();
  s.clock.enter(StageActivity::waiting_for_output);
  s.report.computed = s.commit_begun - s.step_begun;
  s.commits = options->shards.size();
  s.report.staleness = 0;
  // A shard that finds its values unshared updates them in place.
  for (auto& value : s.parameters) value = Tensor();
  for (std::size_t shard = 0; shard < options->shards.size(); ++shard) {
    const GradientCommit request{options->index, s.steps, s.versions[shard],
                                 static_cast<double>(s.rows), s.order};
    self->request(options->shards[shard], caf::infinite, commit_atom_v, request)
        .then(
            [self, options, shard](ApplyResult& result) {
              auto& s = self->state;
              take_parameters(s, shard, result.parameters);
              s.report.learning_rate = result.learning_rate;
              s.report.staleness = std::max(s.report.staleness, result.staleness);
              if (--s.commits == 0) end_step(self, options);
            },
            [self, options](caf::error& error) { abort(self, options, error); });
  }
}

void commit_if_complete(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.fetches && s.outputs == options->fragment.parts.size()) commit(self, options);
}

void push(Self self, const OptionsPtr& options, std::uint32_t index, Tensor& value) {
  auto& s = self->state;
  const auto& part = options->fragment.parts.at(index);
  GradientPart message;
  message.kind = part.kind;
  message.replica = options->index;
  message.step = s.steps;
  message.variable = part.variable;
  if (part.kind == PartKind::sparse_gradient) {
    const auto rows_at = part.indices ? index - 1 : index;
    s.sparse_rows[index] = std::move(value);
    auto& rows = s.sparse_rows[rows_at];
    auto& indices = s.sparse_rows[rows_at + 1];
    if (rows.shape() == Shape{0} || indices.shape() == Shape{0}) return;
    message.values = std::move(rows);
    message.indices = std::move(indices);
    rows = Tensor();
    indices = Tensor();
  } else {
    message.values = std::move(value);
  }
  self->send(options->shards[s.shard_of_part.at(index)], push_atom_v, std::move(message));
}

void begin_step(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  auto batch = std::move(s.next.front());
  s.next.pop_front();
  s.computing = true;
  ++s.steps;
  s.order = batch.sequence;
  s.rows = batch.rows();
  s.outputs = 0;
  s.fetches.reset();
  s.step_begun = Clock::now();
  s.clock.enter(StageActivity::busy);
  s.report.waited_for_data = s.step_begun - s.idle_since;
  ask_for_batch(self, options);  // the next ones, while this one is computed

  if (s.rows == 0) {
    s.fetches.emplace();
    s.outputs = options->fragment.parts.size();
    return commit(self, options);
  }
  TensorList feeds;
  try {
    feeds = feeds_for(options->fragment, std::move(batch.components), s.parameters);
  } catch (const Error& error) {
    return abort(self, options, fault(error));
  }
  const auto seed = mix(options->seed ^ mix(s.order + 1));
  self->request(options->device, caf::infinite, run_atom_v, s.fragment, seed, std::move(feeds),
                caf::actor_cast<OutputSink>(self), s.steps)
      .then(
          [self, options](RunResult& result) {
            self->state.fetches = std::move(result.fetches);
            commit_if_complete(self, options);
          },
          [self, options](caf::error& error) { abort(self, options, error); });
}

bool done(const ReplicaState& s, const ReplicaOptions& options) {
  if (s.stopping || (s.at_end && s.next.empty())) return true;
  return options.max_steps > 0 &&
         *std::min_element(s.versions.begin(), s.versions.end()) >= options.max_steps;
}

/// Goes on with whatever is possible now.
void advance(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.running || s.computing || !s.loaded || s.missing_parameters > 0) return;
  if (done(s, *options)) return finish(self, options);
  if (!s.next.empty())
    begin_step(self, options);
  else
    ask_for_batch(self, options);
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
            [self, options, shard](Parameters& parameters) {
              auto& s = self->state;
              meet_shard(s, *options, shard, parameters);
              take_parameters(s, shard, parameters);
              if (--s.missing_parameters == 0) advance(self, options);
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
        advance(self, options);
        return caf::ok_atom_v;
      },
      [self](status_atom) { return self->state.clock.read(); },
      [self, options](output_atom, std::uint64_t step, std::uint32_t index, Tensor& value) {
        auto& s = self->state;
        if (!s.computing || step != s.steps) return;
        push(self, options, index, value);
        ++s.outputs;
        commit_if_complete(self, options);
      },
  };
}

}  // namespace troupe
