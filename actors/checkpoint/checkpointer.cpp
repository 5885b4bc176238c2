#include "troupe/actors/checkpoint/checkpointer.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

TensorRecord to_record(const SavedTensor& saved) {
  TensorRecord record;
  record.value = saved.values;
  record.blocks = saved.blocks;
  record.first_row = saved.first_row;
  record.total_rows = saved.total_rows;
  record.name = saved.variable;
  if (!saved.slot.empty()) {
    record.name += "/" + saved.slot;
    record.variable = saved.variable;
    record.kind = saved.slot == "average" ? TensorKind::moving_average : TensorKind::slot;
    if (record.kind == TensorKind::slot) record.slot = saved.slot;
  }
  if (record.total_rows > 0) {
    record.variable = saved.variable;
    record.name += text(".rows-", record.first_row);
  }
  return record;
}

SavedCheckpoint write(CheckpointerState& state, const CheckpointerOptions& options,
                      std::vector<ShardSnapshot> snapshots) {
  const auto written = [&](const auto& snapshot) { return snapshot.version == state.last->step; };
  if (state.last && std::all_of(snapshots.begin(), snapshots.end(), written)) return *state.last;
  state.clock.enter(StageActivity::busy);
  std::sort(snapshots.begin(), snapshots.end(),
            [](const auto& a, const auto& b) { return a.shard < b.shard; });
  Version version = 0;
  for (const auto& snapshot : snapshots) version = std::max(version, snapshot.version);
  Manifest manifest;
  manifest.step = static_cast<std::int64_t>(version);
  manifest.state = options.state;
  const auto& directory = options.writer->directory();
  std::uint64_t bytes = 0;
  for (const auto& snapshot : snapshots) {
    std::vector<TensorRecord> records;
    for (const auto& saved : snapshot.tensors) {
      records.push_back(to_record(saved));
      bytes += saved.values.byte_size();
      for (const auto& block : saved.blocks) bytes += block.byte_size();
    }
    manifest.files.push_back(write_shard(directory, manifest.step, static_cast<int>(snapshot.shard),
                                         static_cast<int>(snapshots.size()), records));
  }
  options.writer->publish(manifest);
  state.clock.passed_on(1, bytes);
  state.clock.enter(StageActivity::waiting_for_input);
  state.last = {version, text(directory, "/ckpt-", version)};
  return *state.last;
}

}  // namespace

ObservedCheckpointer::behavior_type checkpointer(
    ObservedCheckpointer::stateful_pointer<CheckpointerState> self, CheckpointerOptions options) {
  return {
      [self, options](snapshot_atom, ShardSnapshot& snapshot) {
        auto& waiting = self->state.incomplete;
        const auto version = snapshot.version;
        waiting[version].push_back(std::move(snapshot));
        if (waiting[version].size() < options.shards) return;
        auto complete = std::move(waiting[version]);
        // Older ones will never be complete: a shard has passed them by.
        waiting.erase(waiting.begin(), std::next(waiting.find(version)));
        try {
          const auto saved = write(self->state, options, std::move(complete));
          if (options.listener) self->send(options.listener, report_atom_v, saved);
        } catch (...) {
          self->quit(current_fault());
        }
      },
      [self, options](save_atom, std::vector<ShardSnapshot>& snapshots) {
        return answer([&] { return write(self->state, options, std::move(snapshots)); });
      },
      [self](status_atom) { return self->state.clock.read(); },
  };
}

ShardSnapshot read_snapshot(const Checkpoint& checkpoint) {
  ShardSnapshot snapshot;
  snapshot.version = static_cast<Version>(checkpoint.step());
  for (auto& record : checkpoint.read_all()) {
    SavedTensor saved;
    saved.values = std::move(record.value);
    saved.variable = record.kind == TensorKind::variable ? record.name : record.variable;
    if (record.kind == TensorKind::slot) saved.slot = record.slot;
    if (record.kind == TensorKind::moving_average) saved.slot = "average";
    snapshot.tensors.push_back(std::move(saved));
  }
  return snapshot;
}

}  // namespace troupe
