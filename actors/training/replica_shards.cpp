#include "troupe/actors/training/replica_shards.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/actors/parameters/row_pieces.h"
#include "troupe/actors/training/replica_course.h"
#include "troupe/actors/training/replica_memory.h"
#include "troupe/actors/training/replica_rows.h"
#include "troupe/actors/training/replica_sets.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ReplicaSelf;
using OptionsPtr = ReplicaOptionsPtr;
using Clock = ReplicaState::Clock;

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

// ---- what it sends ---------------------------------------------------------------------------

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

// ---- joining ---------------------------------------------------------------------------------

/// It has joined, so that all is settled that the one before it has left.
void recall(Self self, const OptionsPtr& options) {
  self->request(options->memories, caf::infinite, restore_atom_v, options->index)
      .then(
          [self, options](const ReplicaMemory& memory) {
            try {
              remember(self->state, *options, memory);
            } catch (...) {
              return abort_run(self, options, current_fault());
            }
            self->state.remembers = true;
            advance(self, options);
          },
          [self, options](caf::error& error) { abort_run(self, options, error); });
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
              return abort_run(self, options, current_failure());
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

}  // namespace

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

void abort_unless_replaced(Self self, const OptionsPtr& options, const caf::error& error) {
  const bool lost =
      error.category() == caf::atom("system") || error.category() == caf::atom("exit");
  if (!lost || !options->keeper) abort_run(self, options, error);
}

void find_shards(Self self, const OptionsPtr& options) {
  if (!options->keeper) return join_all(self, options);
  self->request(options->keeper, caf::infinite, attach_atom_v, options->index,
                caf::actor_cast<Replica>(self))
      .then([self, options](caf::ok_atom) { join_all(self, options); },
            [self, options](caf::error& error) { abort_run(self, options, error); });
}

void send_part(Self self, const OptionsPtr& options, GradientPart part) {
  auto& s = self->state;
  part.replica = options->index;
  part.step = s.steps;
  const auto found = s.places.find(part.variable);
  if (found == s.places.end())
    return abort_run(self, options,
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
  if (at.pull) pull_from(self, options, shard);
}

}  // namespace troupe
