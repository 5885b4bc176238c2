#include "troupe/actors/training/replica.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "troupe/actors/aggregation/weighted_sum.h"
#include "troupe/actors/supervision/supervision.h"
#include "troupe/actors/training/replica_memory.h"
#include "troupe/messages/answer.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using Self = Replica::stateful_pointer<ReplicaState>;
using OptionsPtr = std::shared_ptr<const ReplicaOptions>;
using Clock = ReplicaState::Clock;

void advance(Self self, const OptionsPtr& options);
void find_ids(Self self, const OptionsPtr& options);

void leave_shards(const ReplicaState& s, const OptionsPtr& options) {
  for (const auto& shard : s.shards) caf::anon_send(shard.handle, leave_atom_v, options->index);
}

/// It is done when all shards have passed on that it leaves: what the coordinator decides for
/// that comes before anything that is asked of the shards afterwards.
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

void abort(Self self, const OptionsPtr& options, const caf::error& error) {
  auto& s = self->state;
  if (!s.running) return;
  s.running = false;
  s.clock.enter(StageActivity::idle);
  // In the place of one that has failed otherwise another may be started: then it is lost, and
  // has not left.
  if (repeats_itself(code_of(error))) leave_shards(s, options);
  s.started.deliver(fault(to_error(error).within(s.title)));
}

/// A shard that has ended is no failure when its copy takes its place: that will be told.
void abort_unless_replaced(Self self, const OptionsPtr& options, const caf::error& error) {
  const bool lost =
      error.category() == caf::atom("system") || error.category() == caf::atom("exit");
  if (!lost || !options->keeper) abort(self, options, error);
}

void take_answer(ReplicaState& s, const ReplicaOptions& options, std::size_t shard,
                 ApplyResult& answer) {
  auto& parameters = answer.parameters;
  s.versions[shard] = parameters.version;
  const auto& feeds = s.feed_of[shard];
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i] < 0) continue;
    auto& value = parameters.values[i];
    if (const auto split = s.pieces.find(feeds[i]); split != s.pieces.end())
      split->second[shard] = std::move(value);
    else
      s.parameters[static_cast<std::size_t>(feeds[i])] = std::move(value);
  }
  for (auto& slot : parameters.slots) s.slots.push_back(std::move(slot));
  s.instructions = answer.next;
  s.result.fate = answer.fate;
  s.result.staleness = std::max(s.result.staleness, answer.staleness);
  if (options.leading > 0 && shard >= options.leading) return;
  s.result.learning_rate = answer.learning_rate;
  s.result.step = answer.step;
}

/// Rows of one tensor after those of the one before it.
Tensor stacked(const std::vector<Tensor>& pieces) {
  if (pieces.size() == 1) return pieces[0];
  return stacked_rows(pieces, std::vector<double>(pieces.size(), 1.0));
}

/// Puts variables together that come from several shards.
void join_pieces(ReplicaState& s, const ReplicaOptions& options) {
  for (auto& [feed, of_shards] : s.pieces) {
    const auto at = static_cast<std::size_t>(feed);
    std::vector<Tensor> pieces;
    for (const auto& place : s.places.at(options.fragment.variables[at]))
      pieces.push_back(std::move(of_shards[place.shard]));
    s.parameters[at] = stacked(pieces);
    of_shards.clear();
  }
}

/// Learns which variables, or which rows of them, the shard has.
void meet_shard(ReplicaState& s, const ReplicaOptions& options, std::size_t shard,
                const Parameters& parameters) {
  const auto& wanted = options.fragment.variables;
  s.feed_of[shard].clear();
  for (std::size_t i = 0; i < parameters.names.size(); ++i) {
    const auto& name = parameters.names[i];
    const auto range = parameters.ranges.empty() ? RowRange{} : parameters.ranges.at(i);
    const auto found = std::find(wanted.begin(), wanted.end(), name);
    s.feed_of[shard].push_back(found == wanted.end() ? -1 : found - wanted.begin());
    auto& places = s.places[name];
    std::erase_if(places, [&](const auto& place) { return place.shard == shard; });
    places.push_back({shard, range});
    std::sort(places.begin(), places.end(),
              [](const auto& a, const auto& b) { return a.range.first < b.range.first; });
    if (range.total > 0 && found != wanted.end()) s.pieces[found - wanted.begin()];
  }
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
  s.compressor.settle(fate == SetFate::applied);
  if (options->fragment.loss_scale) {
    try {
      s.loss_scale.note(fate, s.title);
    } catch (...) {
      return abort(self, options, current_failure());
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
    return abort(self, options, current_failure());
  }
  advance(self, options);
}

void commit_to(Self self, const OptionsPtr& options, std::size_t shard) {
  auto& s = self->state;
  auto request = s.commit;
  request.version = s.versions[shard];
  s.shards[shard].commits = true;
  const auto asked = s.shards[shard].handle;
  self->request(asked, caf::infinite, commit_atom_v, request)
      .then(
          [self, options, shard, asked](ApplyResult& answer) {
            auto& s = self->state;
            if (s.shards[shard].handle != asked || !s.shards[shard].commits) return;
            s.shards[shard].commits = false;
            s.shards[shard].sent.clear();
            take_answer(s, *options, shard, answer);
            if (--s.commits == 0 && s.running) end_set(self, options);
          },
          [self, options](caf::error& error) { abort_unless_replaced(self, options, error); });
}

void commit(Self self, const OptionsPtr& options, bool given_up) {
  auto& s = self->state;
  s.committed = true;
  s.commit_begun = Clock::now();
  s.clock.enter(StageActivity::waiting_for_output);
  s.report.computed = s.commit_begun - s.set_begun;
  s.commits = s.shards.size();
  s.commit = {options->index,
              s.steps,
              0,
              given_up ? 0 : static_cast<double>(s.rows),
              s.order,
              s.local ? s.batches : 1,
              given_up,
              s.batches};
  s.result = {};
  if (options->memories && !given_up)
    self->send(options->memories, save_atom_v, options->index, memory_of_set(s, *options));
  // A shard that finds its values unshared updates them in place.
  for (auto& value : s.parameters) value = Tensor();
  for (std::size_t shard = 0; shard < s.shards.size(); ++shard) commit_to(self, options, shard);
}

// ---- gradients -------------------------------------------------------------------------------

std::uint32_t batches_of_a_set(const ReplicaState& s) {
  return s.local ? s.instructions.local_steps : std::max(1u, s.instructions.accumulate);
}

void compress(GradientCompressor& compressor, std::int64_t first_row, GradientPart& part) {
  auto compressed = compressor.compress(part_name(part.variable, first_row), part.values);
  part.values = std::move(compressed.values);
  part.indices = std::move(compressed.positions);
}

void send_to(Self self, const OptionsPtr& options, std::size_t shard, std::int64_t first_row,
             GradientPart part) {
  auto& at = self->state.shards[shard];
  auto& compressor = self->state.compressor;
  if (part.kind == PartKind::gradient && compressor.on()) compress(compressor, first_row, part);
  if (options->keeper) at.sent.push_back(part);
  self->send(at.handle, push_atom_v, std::move(part));
}

/// The rows of a sparse gradient that are in the range, counted from its beginning.
GradientPart rows_within(const GradientPart& part, const RowRange& range) {
  std::vector<std::int64_t> inside, ids;
  for (std::int64_t i = 0; i < part.indices.size(); ++i) {
    const auto id = static_cast<std::int64_t>(part.indices.at(i));
    if (id < range.first || id >= range.first + range.count) continue;
    inside.push_back(i);
    ids.push_back(id - range.first);
  }
  auto some = part;
  some.indices = Tensor::of<std::int64_t>({static_cast<std::int64_t>(ids.size())}, ids);
  some.values = picked_rows(part.values, inside);
  return some;
}

/// To the shard that has the variable, or to each that has rows of it.
void send_part(Self self, const OptionsPtr& options, GradientPart part) {
  auto& s = self->state;
  part.replica = options->index;
  part.step = s.steps;
  const auto found = s.places.find(part.variable);
  if (found == s.places.end())
    return abort(self, options,
                 fault(Code::not_found, "no shard has variable '", part.variable, "'"));
  for (const auto& [shard, range] : found->second) {
    if (range.total == 0) return send_to(self, options, shard, 0, std::move(part));
    auto some = part;
    if (part.kind == PartKind::sparse_gradient)
      some = rows_within(part, range);
    else
      some.values = part.values.slice(range.first, range.first + range.count);
    send_to(self, options, shard, range.first, std::move(some));
  }
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

/// The set is whole: pushes what is still here, and commits.
void complete_set(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  for (std::size_t i = 0; i < options->fragment.parts.size(); ++i)
    push_accumulated(self, options, i);
  if (s.local && s.rows > 0)
    for (auto& part : s.local->assignments()) send_part(self, options, std::move(part));
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
    send_part(self, options, std::move(message));
  } else {
    s.accumulated.add(position, std::move(message.values), std::move(message.indices),
                      s.batch_rows);
    if (s.batches == batches_of_a_set(s)) push_accumulated(self, options, position);
  }
}

// ---- rows of tables --------------------------------------------------------------------------

/// Whether what comes from somebody who was asked for run `run` is still of use.
bool of_use(Self self, const OptionsPtr& options, std::uint64_t run) {
  auto& s = self->state;
  if (run != s.runs || !s.running) return false;
  if (!s.committed && s.in_set) return true;
  s.computing = false;  // given up
  advance(self, options);
  return false;
}

void run_batch(Self self, const OptionsPtr& options, const TensorList& reads) {
  auto& s = self->state;
  TensorList feeds;
  try {
    feeds = feeds_for(options->fragment, std::move(s.batch.components),
                      s.local ? s.local->values() : s.parameters, reads);
    if (options->fragment.loss_scale)
      feeds.push_back(Tensor::scalar(s.loss_scale.value()).cast(*options->fragment.loss_scale));
  } catch (const Error& error) {
    return abort(self, options, fault(error));
  }
  const auto run = s.runs;
  self->request(options->device, caf::infinite, run_atom_v, s.fragment, s.seed, std::move(feeds),
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

/// All rows are here.
void feed_rows(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  TensorList rows;
  for (const auto& pieces : std::exchange(s.pulled, {})) rows.push_back(stacked(pieces));
  run_batch(self, options, read_rows(s.reads, rows));
}

void pull_from(Self self, const OptionsPtr& options, std::size_t shard,
               const std::vector<std::pair<std::size_t, std::size_t>>& places) {
  auto& s = self->state;
  const auto asked = s.shards[shard].handle;
  const auto run = s.runs;
  self->request(asked, caf::infinite, pull_atom_v, *s.shards[shard].pull)
      .then(
          [self, options, shard, places, asked, run](PulledRows& pulled) {
            auto& s = self->state;
            if (s.shards[shard].handle != asked) return;
            s.shards[shard].pull.reset();
            if (!of_use(self, options, run)) return;
            for (std::size_t i = 0; i < places.size(); ++i)
              s.pulled[places[i].first][places[i].second] = std::move(pulled.rows.at(i));
            if (--s.pulls == 0) feed_rows(self, options);
          },
          [self, options](caf::error& error) { abort_unless_replaced(self, options, error); });
}

/// Which shard is asked for which of the planned rows: tables and their places.
using ShardPulls = std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>>;

ShardPulls share_out(ReplicaState& s) {
  ShardPulls of_shards;
  s.pulled.clear();
  for (std::size_t table = 0; table < s.reads.wanted.size(); ++table) {
    const auto& [variable, ids] = s.reads.wanted[table];
    const auto& places = s.places.at(variable);
    s.pulled.emplace_back(places.size());
    const auto all = ids.read<std::int64_t>();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& [shard, range] = places[i];
      WantedRows wanted{variable, ids};
      if (range.total > 0) {
        const auto begin = std::lower_bound(all.begin(), all.end(), range.first) - all.begin();
        const auto end =
            std::lower_bound(all.begin(), all.end(), range.first + range.count) - all.begin();
        wanted.ids = ids.slice(begin, end);
      }
      auto& pull = s.shards[shard].pull;
      if (!pull) pull.emplace();
      pull->wanted.push_back(std::move(wanted));
      of_shards[shard].emplace_back(table, i);
    }
  }
  return of_shards;
}

void pull_rows(Self self, const OptionsPtr& options, const TensorList& fetched) {
  auto& s = self->state;
  try {
    const auto& fragment = options->fragment;
    s.reads = plan_reads(fragment, ids_of_reads(fragment, s.batch.components, fetched),
                         text("batch ", s.batch.sequence));
    for (auto& shard : s.shards) shard.pull.reset();
    s.asked_rows = share_out(s);
  } catch (...) {
    return abort(self, options, current_fault());
  }
  s.pulls = s.asked_rows.size();
  for (const auto& [shard, places] : s.asked_rows) pull_from(self, options, shard, places);
}

/// Computes the row numbers that are no component of the batch, when there are such.
void find_ids(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  const auto& fragment = options->fragment;
  if (fragment.reads.empty()) return run_batch(self, options, {});
  if (!fragment.ids.graph) return pull_rows(self, options, {});
  TensorList feeds;
  for (const auto input : fragment.ids_inputs)
    if (input < s.batch.components.size()) feeds.push_back(s.batch.components[input]);
  const auto run = s.runs;
  self->request(options->device, caf::infinite, run_atom_v, s.ids_fragment, s.seed,
                std::move(feeds))
      .then(
          [self, options, run](const RunResult& result) {
            if (of_use(self, options, run)) pull_rows(self, options, result.fetches);
          },
          [self, options](caf::error& error) { abort(self, options, error); });
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
  s.seed = mix(options->seed ^ mix(batch.sequence + 1));
  s.batch = std::move(batch);
  s.computing = true;
  ++s.runs;
  find_ids(self, options);
}

/// No more batches will come, or are wanted.
bool dry(const ReplicaState& s, const ReplicaOptions& options) {
  return (s.at_end || (s.stopping && !options.whole_sets)) && s.next.empty();
}

/// Goes on with whatever is possible now.
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

void load(Self self, const OptionsPtr& options, const FragmentSpec& spec,
          const std::function<void(FragmentId)>& loaded) {
  self->request(options->device, caf::infinite, load_atom_v, spec)
      .then([loaded](FragmentId id) { loaded(id); },
            [self, options](caf::error& error) { abort(self, options, error); });
}

void load_fragments(Self self, const OptionsPtr& options) {
  const auto load_main = [self, options] {
    load(self, options, options->fragment.spec, [self, options](FragmentId id) {
      self->state.fragment = id;
      self->state.loaded = true;
      advance(self, options);
    });
  };
  if (!options->fragment.ids.graph) return load_main();
  load(self, options, options->fragment.ids, [self, load_main](FragmentId id) {
    self->state.ids_fragment = id;
    load_main();
  });
}

/// It has joined, so that all is settled that the one before it has left.
void recall(Self self, const OptionsPtr& options) {
  self->request(options->memories, caf::infinite, restore_atom_v, options->index)
      .then(
          [self, options](const ReplicaMemory& memory) {
            try {
              remember(self->state, *options, memory);
            } catch (...) {
              return abort(self, options, current_fault());
            }
            self->state.remembers = true;
            advance(self, options);
          },
          [self, options](caf::error& error) { abort(self, options, error); });
}

void join(Self self, const OptionsPtr& options, std::size_t shard) {
  auto& s = self->state;
  s.shards[shard].joins = true;
  const auto asked = s.shards[shard].handle;
  self->request(asked, caf::infinite, join_atom_v, options->index)
      .then(
          [self, options, shard, asked](ApplyResult& answer) {
            auto& s = self->state;
            if (s.shards[shard].handle != asked || !s.shards[shard].joins) return;
            s.shards[shard].joins = false;
            meet_shard(s, *options, shard, answer.parameters);
            take_answer(s, *options, shard, answer);
            if (--s.missing_parameters > 0) return;
            join_pieces(s, *options);
            try {
              start_local(s, *options);
            } catch (...) {
              return abort(self, options, current_failure());
            }
            if (!s.remembers) return recall(self, options);
            advance(self, options);
          },
          [self, options](caf::error& error) { abort_unless_replaced(self, options, error); });
}

void join_all(Self self, const OptionsPtr& options) {
  if (!self->state.running) return;
  for (std::size_t i = 0; i < self->state.shards.size(); ++i) join(self, options, i);
}

/// Joins the shards, once somebody who keeps them knows of it.
void find_shards(Self self, const OptionsPtr& options) {
  if (!options->keeper) return join_all(self, options);
  self->request(options->keeper, caf::infinite, attach_atom_v, options->index,
                caf::actor_cast<Replica>(self))
      .then([self, options](caf::ok_atom) { join_all(self, options); },
            [self, options](caf::error& error) { abort(self, options, error); });
}

/// Another actor is that shard: it is told again what the one before it has not answered.
void redirect(Self self, const OptionsPtr& options, std::size_t shard, const Shard& handle) {
  auto& s = self->state;
  auto& at = s.shards.at(shard);
  if (at.handle == handle) return;
  at.handle = handle;
  if (!s.running) {
    if (s.started_once) caf::anon_send(handle, leave_atom_v, options->index);
    return;
  }
  if (at.joins) return join(self, options, shard);
  for (const auto& part : at.sent) self->send(handle, push_atom_v, part);
  if (at.commits) commit_to(self, options, shard);
  if (at.pull) pull_from(self, options, shard, s.asked_rows[shard]);
}

}  // namespace

Replica::behavior_type replica(Self self, ReplicaOptions given) {
  const auto options = std::make_shared<const ReplicaOptions>(std::move(given));
  auto& s = self->state;
  s.title = text("replica ", options->index);
  for (const auto& shard : options->shards) s.shards.push_back({shard, false, false, {}, {}});
  s.feed_of.resize(options->shards.size());
  s.versions.resize(options->shards.size());
  s.parameters.resize(options->fragment.variables.size());
  s.sparse_rows.resize(options->fragment.parts.size() + 1);
  s.accumulated = GradientAccumulator(options->fragment.parts.size());
  s.compressor = GradientCompressor(options->compression);
  s.loss_scale = LossScale(options->loss_scale);
  s.remembers = !options->memories;
  // It ends, but not without a word.
  self->set_exception_handler([self](std::exception_ptr&) -> caf::error {
    return fault(to_error(current_failure()).within(self->state.title));
  });
  return {
      [self, options](start_atom) -> caf::result<std::uint64_t> {
        auto& s = self->state;
        if (s.running)
          return fault(Code::failed_precondition, s.title, " has been started already");
        s.running = s.started_once = true;
        s.idle_since = Clock::now();
        s.clock.enter(StageActivity::waiting_for_input);
        s.started = self->make_response_promise<std::uint64_t>();
        load_fragments(self, options);
        s.missing_parameters = s.shards.size();
        find_shards(self, options);
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
      [self, options](redirect_atom, std::uint32_t shard, const Shard& handle) {
        redirect(self, options, shard, handle);
      },
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
