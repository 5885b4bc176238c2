#pragma once

#include <caf/meta/type_name.hpp>

#include "troupe/messages/payloads.h"

namespace troupe {

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, RecordRun::Jump& x) {
  return f(caf::meta::type_name("Jump"), x.index, x.file, x.record);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, RecordRun& x) {
  return f(caf::meta::type_name("RecordRun"), x.bytes, x.begins, x.ends, x.file, x.first_record,
           x.jumps, x.epoch, x.by_lines);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, RecordBlock& x) {
  return f(caf::meta::type_name("RecordBlock"), x.sequence, x.streams);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ElementBlock& x) {
  return f(caf::meta::type_name("ElementBlock"), x.sequence, x.elements, x.reader, x.left_out);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Batch& x) {
  return f(caf::meta::type_name("Batch"), x.sequence, x.components);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, StageStatus& x) {
  return f(caf::meta::type_name("StageStatus"), x.records, x.bytes, x.busy, x.waiting_for_input,
           x.waiting_for_output);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ReaderSnapshot& x) {
  return f(caf::meta::type_name("ReaderSnapshot"), x.position, x.sequence);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, BarrierInsert& x) {
  return f(caf::meta::type_name("BarrierInsert"), x.component, x.keys, x.values);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, BarrierBatch& x) {
  return f(caf::meta::type_name("BarrierBatch"), x.keys, x.components, x.indices);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, BarrierStatus& x) {
  return f(caf::meta::type_name("BarrierStatus"), x.name, x.ready, x.incomplete, x.closed,
           x.reason);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, PartStatus& x) {
  return f(caf::meta::type_name("PartStatus"), x.steps, x.values);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, SavedTensor& x) {
  return f(caf::meta::type_name("SavedTensor"), x.variable, x.slot, x.values, x.blocks, x.first_row,
           x.total_rows);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, RowRange& x) {
  return f(caf::meta::type_name("RowRange"), x.first, x.count, x.total);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, WantedRows& x) {
  return f(caf::meta::type_name("WantedRows"), x.variable, x.ids);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, RowPull& x) {
  return f(caf::meta::type_name("RowPull"), x.wanted, x.with_values, x.averages, x.only_here);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Parameters& x) {
  return f(caf::meta::type_name("Parameters"), x.version, x.names, x.values, x.slots, x.ranges);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, PulledRows& x) {
  return f(caf::meta::type_name("PulledRows"), x.parameters, x.rows);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, GradientPart& x) {
  return f(caf::meta::type_name("GradientPart"), x.kind, x.replica, x.step, x.variable, x.values,
           x.indices, x.slot);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, GradientCommit& x) {
  return f(caf::meta::type_name("GradientCommit"), x.replica, x.step, x.version, x.weight, x.order,
           x.updates, x.given_up, x.batches);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Instructions& x) {
  return f(caf::meta::type_name("Instructions"), x.finished, x.accumulate, x.local_steps,
           x.may_be_refused);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ApplyResult& x) {
  return f(caf::meta::type_name("ApplyResult"), x.fate, x.staleness, x.learning_rate, x.parameters,
           x.next, x.step);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ShardSnapshot& x) {
  return f(caf::meta::type_name("ShardSnapshot"), x.shard, x.version, x.tensors, x.group,
           x.own_version);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, StalenessCounts& x) {
  return f(caf::meta::type_name("StalenessCounts"), x.counts);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ShardStatus& x) {
  return f(caf::meta::type_name("ShardStatus"), x.name, x.version, x.bytes, x.pulls, x.updates,
           x.replicas, x.busy, x.staleness, x.pushes, x.pulled_rows, x.pushed_rows, x.backups);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, SetReport& x) {
  return f(caf::meta::type_name("SetReport"), x.shard, x.commit, x.code, x.fault, x.not_finite,
           x.decisions);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Refusal& x) {
  return f(caf::meta::type_name("Refusal"), x.replica, x.step, x.fate, x.staleness, x.code,
           x.message);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, RoundDecision::Member& x) {
  return f(caf::meta::type_name("Member"), x.replica, x.step, x.share, x.staleness);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, RoundDecision& x) {
  return f(caf::meta::type_name("RoundDecision"), x.members, x.updates, x.clip_norm, x.refused,
           x.departed, x.released, x.next, x.policy, x.number, x.keep);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, MemberCopy::Set& x) {
  return f(caf::meta::type_name("Set"), x.step, x.committed, x.commit, x.parts);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, MemberCopy& x) {
  return f(caf::meta::type_name("MemberCopy"), x.replica, x.address, x.last_step, x.sets, x.waits,
           x.joins, x.left, x.result, x.answered);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ShardCopy& x) {
  return f(caf::meta::type_name("ShardCopy"), x.store, x.members, x.instructions, x.policy,
           x.decisions, x.learning_rate, x.staleness, x.updates);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ShardEntry& x) {
  return f(caf::meta::type_name("ShardEntry"), x.kind, x.replica, x.sender, x.part, x.commit,
           x.decision, x.factor, x.snapshot);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, SettledSet& x) {
  return f(caf::meta::type_name("SettledSet"), x.replica, x.first, x.batches, x.fate);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Settlement& x) {
  return f(caf::meta::type_name("Settlement"), x.version, x.sets);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, OutstandingBatch& x) {
  return f(caf::meta::type_name("OutstandingBatch"), x.replica, x.handed_out, x.batch);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, LedgerStatus& x) {
  return f(caf::meta::type_name("LedgerStatus"), x.version, x.outstanding, x.trained, x.repeated,
           x.lost);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ReplicaStanding& x) {
  return f(caf::meta::type_name("ReplicaStanding"), x.replica, x.takes_part, x.clock, x.staleness,
           x.stale, x.skipped, x.late);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, AggregationStatus& x) {
  return f(caf::meta::type_name("AggregationStatus"), x.policy, x.version, x.updates, x.clipped,
           x.replicas, x.variables, x.groups);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, TrainingEvent& x) {
  return f(caf::meta::type_name("TrainingEvent"), x.step, x.message);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, StepReport& x) {
  return f(caf::meta::type_name("StepReport"), x.replica, x.step, x.examples, x.values,
           x.learning_rate, x.staleness, x.waited_for_data, x.waited_for_parameters, x.computed);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, EvaluationResult& x) {
  return f(caf::meta::type_name("EvaluationResult"), x.version, x.examples, x.values);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, SavedCheckpoint& x) {
  return f(caf::meta::type_name("SavedCheckpoint"), x.step, x.path);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, EnqueueOptions& x) {
  return f(caf::meta::type_name("EnqueueOptions"), x.atomic, x.timeout);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, DequeueRequest& x) {
  return f(caf::meta::type_name("DequeueRequest"), x.count, x.up_to, x.timeout);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, CloseReason& x) {
  return f(caf::meta::type_name("CloseReason"), x.code, x.message);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, CloseRequest& x) {
  return f(caf::meta::type_name("CloseRequest"), x.cancel_pending, x.reason, x.timeout);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, PeekRequest& x) {
  return f(caf::meta::type_name("PeekRequest"), x.index, x.timeout);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, QueueStatus& x) {
  return f(caf::meta::type_name("QueueStatus"), x.name, x.kind, x.size, x.capacity, x.floor,
           x.bytes, x.capacity_bytes, x.closed, x.reason, x.producers, x.waiting_enqueues,
           x.waiting_dequeues, x.enqueued, x.dequeued, x.blocked_on_full, x.blocked_on_empty);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, RunResult& x) {
  return f(caf::meta::type_name("RunResult"), x.fetches, x.busy);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, DeviceStatus& x) {
  return f(caf::meta::type_name("DeviceStatus"), x.name, x.intra_op, x.inter_op, x.runs, x.busy,
           x.fragments, x.arena_bytes);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, TrainingOutcome& x) {
  return f(caf::meta::type_name("TrainingOutcome"), x.ending, x.code, x.message, x.steps,
           x.examples, x.training, x.evaluation, x.checkpoint, x.aggregation, x.restarts,
           x.records_repeated, x.records_lost, x.records_left, x.elapsed, x.until_first_step);
}

}  // namespace troupe
