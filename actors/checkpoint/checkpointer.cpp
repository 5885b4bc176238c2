#include "troupe/actors/checkpoint/checkpointer.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <charconv>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/actors/checkpoint/memory_file.h"
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

/// The name in a manifest's state of how many updates the variables of a group have had.
std::string own_version_key(const std::string& group) { return "updates of " + group; }

SavedCheckpoint write(CheckpointerState& state, const CheckpointerOptions& options,
                      std::vector<ShardSnapshot> snapshots, const std::optional<DataState>& data) {
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
  for (const auto& [name, value] : state.told) manifest.state[name] = value;
  const auto& directory = options.writer->directory();
  std::uint64_t bytes = 0;
  for (const auto& snapshot : snapshots) {
    if (!snapshot.group.empty())
      manifest.state[own_version_key(snapshot.group)] = text(snapshot.own_version);
    std::vector<TensorRecord> records;
    for (const auto& saved : snapshot.tensors) {
      records.push_back(to_record(saved));
      bytes += saved.values.byte_size();
      for (const auto& block : saved.blocks) bytes += block.byte_size();
    }
    manifest.files.push_back(write_shard(directory, manifest.step, static_cast<int>(snapshot.shard),
                                         static_cast<int>(snapshots.size()), records));
  }
  if (data) bytes += write_data(directory, *data, manifest);
  if (const auto memories = state.incomplete.find(version); memories != state.incomplete.end())
    bytes += write_memories(directory, memories->second.memories, manifest);
  options.writer->publish(manifest);
  state.clock.passed_on(1, bytes);
  state.clock.enter(StageActivity::waiting_for_input);
  state.last = {version, text(directory, "/ckpt-", version)};
  const auto later = state.expected.upper_bound(version);
  for (auto i = state.expected.begin(); i != later; ++i) i->second.deliver(caf::ok_atom_v);
  state.expected.erase(state.expected.begin(), later);
  return *state.last;
}

SavedCheckpoint write_best(CheckpointerState& state, const CheckpointerOptions& options,
                           const ShardSnapshot& snapshot, const EvaluationResult& result) {
  if (!options.best)
    fail(Code::failed_precondition, "no weights are kept that evaluations find best");
  Manifest manifest;
  manifest.step = static_cast<std::int64_t>(snapshot.version);
  manifest.state = options.state;
  for (std::size_t i = 0; i < options.values.size() && i < result.values.size(); ++i)
    manifest.metrics[options.values[i]] = result.values[i];
  const auto& directory = options.best->directory();
  std::vector<TensorRecord> records;
  std::uint64_t bytes = 0;
  state.clock.enter(StageActivity::busy);
  for (const auto& saved : snapshot.tensors) {
    records.push_back(to_record(saved));
    bytes += saved.values.byte_size();
  }
  manifest.files.push_back(write_shard(directory, manifest.step, 0, 1, records));
  options.best->publish(manifest);
  state.clock.passed_on(1, bytes);
  state.clock.enter(StageActivity::waiting_for_input);
  return {snapshot.version, text(directory, "/ckpt-", snapshot.version)};
}

/// Writes the checkpoint of a version once everything of it is here.
void write_if_complete(ObservedCheckpointer::stateful_pointer<CheckpointerState> self,
                       const CheckpointerOptions& options, Version version) {
  auto& waiting = self->state.incomplete;
  auto& here = waiting[version];
  if (here.shards.size() < options.shards || (options.with_data && !here.data)) return;
  try {
    const auto saved = write(self->state, options, std::move(here.shards), here.data);
    // Older ones will never be complete: a shard has passed them by.
    waiting.erase(waiting.begin(), waiting.upper_bound(version));
    if (options.listener) self->send(options.listener, report_atom_v, saved);
  } catch (...) {
    self->quit(current_fault());
  }
}

}  // namespace

ObservedCheckpointer::behavior_type checkpointer(
    ObservedCheckpointer::stateful_pointer<CheckpointerState> self, CheckpointerOptions options) {
  return {
      [self, options](snapshot_atom, ShardSnapshot& snapshot) {
        const auto version = snapshot.version;
        auto& shards = self->state.incomplete[version].shards;
        // One that took the place of another may say again what that has said.
        std::erase_if(shards, [&](const auto& known) { return known.shard == snapshot.shard; });
        shards.push_back(std::move(snapshot));
        write_if_complete(self, options, version);
      },
      [self, options](snapshot_atom, DataState& data) {
        const auto version = data.version;
        self->state.incomplete[version].data = std::move(data);
        write_if_complete(self, options, version);
      },
      [self, options](save_atom, std::vector<ShardSnapshot>& snapshots, DataState& data) {
        return answer([&] { return write(self->state, options, std::move(snapshots), data); });
      },
      [self, options](save_atom, std::vector<ShardSnapshot>& snapshots) {
        return answer([&] { return write(self->state, options, std::move(snapshots), {}); });
      },
      [self, options](save_atom, const ShardSnapshot& snapshot, const EvaluationResult& result) {
        return answer([&] { return write_best(self->state, options, snapshot, result); });
      },
      [self](assign_atom, const std::string& name, const std::string& value) {
        self->state.told[name] = value;
      },
      [self](status_atom) { return self->state.clock.read(); },
      [self](snapshot_atom, Version version, std::vector<ReplicaMemory>& memories) {
        self->state.incomplete[version].memories = std::move(memories);
      },
      [self](expect_atom, Version version) -> caf::result<caf::ok_atom> {
        auto& s = self->state;
        if (s.last && s.last->step >= version) return caf::ok_atom_v;
        auto promise = self->make_response_promise<caf::ok_atom>();
        s.expected.emplace(version, promise);
        return promise;
      },
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

Version own_version(const Checkpoint& checkpoint, const std::string& group) {
  const auto& state = checkpoint.manifest().state;
  const auto found = state.find(own_version_key(group));
  if (found == state.end()) return static_cast<Version>(checkpoint.step());
  Version version = 0;
  const auto* end = found->second.data() + found->second.size();
  const auto [stop, error] = std::from_chars(found->second.data(), end, version);
  if (error != std::errc() || stop != end)
    fail(Code::data_loss, checkpoint.name(), ": the updates of '", group, "' are '", found->second,
         "', which is no number");
  return version;
}

}  // namespace troupe
