#include "troupe/actors/training/replica_rows.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/actors/parameters/row_pieces.h"
#include "troupe/actors/training/replica_course.h"
#include "troupe/actors/training/replica_sets.h"
#include "troupe/actors/training/replica_shards.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ReplicaSelf;
using OptionsPtr = ReplicaOptionsPtr;

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
    return abort_run(self, options, fault(error));
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
          [self, options](caf::error& error) { abort_run(self, options, error); });
}

/// All rows are here.
void feed_rows(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  TensorList rows;
  for (const auto& pieces : std::exchange(s.pulled, {})) rows.push_back(stacked(pieces));
  run_batch(self, options, read_rows(s.reads, rows));
}

/// Plans which shard is asked for which of the rows.
ReplicaState::ShardPulls share_out(ReplicaState& s) {
  ReplicaState::ShardPulls of_shards;
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
    return abort_run(self, options, current_fault());
  }
  s.pulls = s.asked_rows.size();
  for (const auto& [shard, places] : s.asked_rows) pull_from(self, options, shard);
}

}  // namespace

void compute_batch(Self self, const OptionsPtr& options) {
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
          [self, options](caf::error& error) { abort_run(self, options, error); });
}

void pull_from(Self self, const OptionsPtr& options, std::size_t shard) {
  auto& s = self->state;
  const auto asked = s.shards[shard].handle;
  const auto run = s.runs;
  self->request(asked, caf::infinite, pull_atom_v, *s.shards[shard].pull)
      .then(
          [self, options, shard, asked, run](PulledRows& pulled) {
            auto& s = self->state;
            if (s.shards[shard].handle != asked) return;
            s.shards[shard].pull.reset();
            if (!of_use(self, options, run)) return;
            const auto& places = s.asked_rows[shard];
            for (std::size_t i = 0; i < places.size(); ++i)
              s.pulled[places[i].first][places[i].second] = std::move(pulled.rows.at(i));
            if (--s.pulls == 0) feed_rows(self, options);
          },
          [self, options](caf::error& error) { abort_unless_replaced(self, options, error); });
}

}  // namespace troupe
