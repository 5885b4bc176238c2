#pragma once

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>

#include "troupe/messages/fault.h"
#include "troupe/messages/inspect_payloads.h"
#include "troupe/messages/payloads.h"

// Every type that stands in a message, in one place. Two nodes agree on these
// numbers: add at the end, never reorder.
CAF_BEGIN_TYPE_ID_BLOCK(troupe, caf::first_custom_type_id)

CAF_ADD_TYPE_ID(troupe, (troupe::Tensor))
CAF_ADD_TYPE_ID(troupe, (std::vector<troupe::Tensor>))
CAF_ADD_TYPE_ID(troupe, (troupe::RecordRun))
CAF_ADD_TYPE_ID(troupe, (troupe::RecordBlock))
CAF_ADD_TYPE_ID(troupe, (troupe::ElementBlock))
CAF_ADD_TYPE_ID(troupe, (troupe::Batch))
CAF_ADD_TYPE_ID(troupe, (troupe::EnqueueOptions))
CAF_ADD_TYPE_ID(troupe, (troupe::DequeueRequest))
CAF_ADD_TYPE_ID(troupe, (troupe::CloseReason))
CAF_ADD_TYPE_ID(troupe, (troupe::CloseRequest))
CAF_ADD_TYPE_ID(troupe, (troupe::QueueStatus))
CAF_ADD_TYPE_ID(troupe, (troupe::FragmentSpec))
CAF_ADD_TYPE_ID(troupe, (troupe::RunResult))
CAF_ADD_TYPE_ID(troupe, (troupe::DeviceStatus))
CAF_ADD_TYPE_ID(troupe, (troupe::Parameters))
CAF_ADD_TYPE_ID(troupe, (troupe::GradientPart))
CAF_ADD_TYPE_ID(troupe, (troupe::GradientCommit))
CAF_ADD_TYPE_ID(troupe, (troupe::ApplyResult))
CAF_ADD_TYPE_ID(troupe, (troupe::SavedTensor))
CAF_ADD_TYPE_ID(troupe, (std::vector<troupe::ShardSnapshot>))
CAF_ADD_TYPE_ID(troupe, (troupe::ShardSnapshot))
CAF_ADD_TYPE_ID(troupe, (troupe::ShardStatus))
CAF_ADD_TYPE_ID(troupe, (troupe::StepReport))
CAF_ADD_TYPE_ID(troupe, (troupe::EvaluationResult))
CAF_ADD_TYPE_ID(troupe, (troupe::SavedCheckpoint))
CAF_ADD_TYPE_ID(troupe, (troupe::TrainingOutcome))
CAF_ADD_TYPE_ID(troupe, (troupe::StageStatus))
CAF_ADD_TYPE_ID(troupe, (troupe::ReaderSnapshot))
CAF_ADD_TYPE_ID(troupe, (troupe::BarrierInsert))
CAF_ADD_TYPE_ID(troupe, (troupe::BarrierBatch))
CAF_ADD_TYPE_ID(troupe, (troupe::BarrierStatus))
CAF_ADD_TYPE_ID(troupe, (troupe::PeekRequest))
CAF_ADD_TYPE_ID(troupe, (troupe::PartStatus))
CAF_ADD_TYPE_ID(troupe, (troupe::SetReport))
CAF_ADD_TYPE_ID(troupe, (troupe::RoundDecision))
CAF_ADD_TYPE_ID(troupe, (troupe::AggregationStatus))
CAF_ADD_TYPE_ID(troupe, (troupe::TrainingEvent))
CAF_ADD_TYPE_ID(troupe, (troupe::RowPull))
CAF_ADD_TYPE_ID(troupe, (troupe::PulledRows))
CAF_ADD_TYPE_ID(troupe, (troupe::ShardCopy))
CAF_ADD_TYPE_ID(troupe, (troupe::ShardEntry))
CAF_ADD_TYPE_ID(troupe, (troupe::Settlement))
CAF_ADD_TYPE_ID(troupe, (troupe::LedgerStatus))

// At most ten characters in an atom's text.
CAF_ADD_ATOM(troupe, troupe, next_atom, "next")
CAF_ADD_ATOM(troupe, troupe, start_atom, "start")
CAF_ADD_ATOM(troupe, troupe, stop_atom, "stop")
CAF_ADD_ATOM(troupe, troupe, status_atom, "status")
CAF_ADD_ATOM(troupe, troupe, enqueue_atom, "enqueue")
CAF_ADD_ATOM(troupe, troupe, dequeue_atom, "dequeue")
CAF_ADD_ATOM(troupe, troupe, attach_atom, "attach")
CAF_ADD_ATOM(troupe, troupe, detach_atom, "detach")
CAF_ADD_ATOM(troupe, troupe, end_atom, "end")
CAF_ADD_ATOM(troupe, troupe, load_atom, "load")
CAF_ADD_ATOM(troupe, troupe, unload_atom, "unload")
CAF_ADD_ATOM(troupe, troupe, run_atom, "run")
CAF_ADD_ATOM(troupe, troupe, output_atom, "output")
CAF_ADD_ATOM(troupe, troupe, pull_atom, "pull")
CAF_ADD_ATOM(troupe, troupe, push_atom, "push")
CAF_ADD_ATOM(troupe, troupe, commit_atom, "commit")
CAF_ADD_ATOM(troupe, troupe, assign_atom, "assign")
CAF_ADD_ATOM(troupe, troupe, snapshot_atom, "snapshot")
CAF_ADD_ATOM(troupe, troupe, restore_atom, "restore")
CAF_ADD_ATOM(troupe, troupe, join_atom, "join")
CAF_ADD_ATOM(troupe, troupe, leave_atom, "leave")
CAF_ADD_ATOM(troupe, troupe, report_atom, "report")
CAF_ADD_ATOM(troupe, troupe, save_atom, "save")
CAF_ADD_ATOM(troupe, troupe, tick_atom, "tick")
CAF_ADD_ATOM(troupe, troupe, insert_atom, "insert")
CAF_ADD_ATOM(troupe, troupe, take_atom, "take")
CAF_ADD_ATOM(troupe, troupe, peek_atom, "peek")
CAF_ADD_ATOM(troupe, troupe, clear_atom, "clear")
CAF_ADD_ATOM(troupe, troupe, edge_atom, "edge")
CAF_ADD_ATOM(troupe, troupe, cancel_atom, "cancel")
CAF_ADD_ATOM(troupe, troupe, expect_atom, "expect")
CAF_ADD_ATOM(troupe, troupe, ready_atom, "ready")
CAF_ADD_ATOM(troupe, troupe, decide_atom, "decide")
CAF_ADD_ATOM(troupe, troupe, norm_atom, "norm")
CAF_ADD_ATOM(troupe, troupe, give_up_atom, "give_up")
CAF_ADD_ATOM(troupe, troupe, policy_atom, "policy")
CAF_ADD_ATOM(troupe, troupe, log_atom, "log")
CAF_ADD_ATOM(troupe, troupe, mirror_atom, "mirror")
CAF_ADD_ATOM(troupe, troupe, promote_atom, "promote")
CAF_ADD_ATOM(troupe, troupe, redirect_atom, "redirect")
CAF_ADD_ATOM(troupe, troupe, settle_atom, "settle")
CAF_ADD_ATOM(troupe, troupe, ledger_atom, "ledger")

CAF_END_TYPE_ID_BLOCK(troupe)

// A graph inside a spec is shared within the process.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::FragmentSpec)

namespace troupe {

/// Turns something outside into blocks of records, on demand: whoever is ready
/// for a block asks for it.
///   (next)   -> block      out_of_range at the end of the data; any other code when it failed,
///                          then and for every later request
///   (stop)   -> ok         later requests are answered with cancelled
///   (status) -> status
///   (snapshot)          -> snapshot  where the records begin that have not been handed out
///   (restore, snapshot) -> ok        goes on from there, also after the end of the data;
///                                    data_loss or invalid_argument when that is no place in
///                                    this reader's data
using Reader = caf::typed_actor<caf::replies_to<next_atom>::with<RecordBlock>,
                                caf::replies_to<stop_atom>::with<caf::ok_atom>,
                                caf::replies_to<status_atom>::with<StageStatus>,
                                caf::replies_to<snapshot_atom>::with<ReaderSnapshot>,
                                caf::replies_to<restore_atom, ReaderSnapshot>::with<caf::ok_atom>>;

/// A bounded queue of elements (tuples of tensors).
///   (expect, name, producer)              that actor will attach once it is started. When it ends
///                                         before it has, or is none, the queue closes with its
///                                         name
///   (enqueue, block, options) -> ok       once all elements are in; cancelled when it is closed
///   (dequeue, request)        -> batch    once there are enough; when it is closed with too few,
///                                         the code and words of the reason of the close
///   (attach)                  -> ok       the sender is a producer from now on. A producer that
///                                         ends without a word closes the queue with its failure.
///   (detach, reason)          -> ok       the sender has no more. The queue closes when the last
///                                         producer is gone, or at once when the reason is a
///                                         failure. An expected one need not have attached
///   (close, request)          -> ok       once it is closed; deadline_exceeded when enqueues had
///   to
///                                         be given up for that, with who they were
///   (status)                  -> status
using Queue = caf::typed_actor<
    caf::reacts_to<expect_atom, std::string, caf::actor>,
    caf::replies_to<enqueue_atom, ElementBlock, EnqueueOptions>::with<caf::ok_atom>,
    caf::replies_to<dequeue_atom, DequeueRequest>::with<Batch>,
    caf::replies_to<attach_atom>::with<caf::ok_atom>,
    caf::replies_to<detach_atom, CloseReason>::with<caf::ok_atom>,
    caf::replies_to<caf::close_atom, CloseRequest>::with<caf::ok_atom>,
    caf::replies_to<status_atom>::with<QueueStatus>>;

/// A queue for batches that wait in front of whoever uses them.
///   (peek, request) -> batch   of the one element at that place, once there is one; it stays
///   inside (clear)         -> ok      what is inside is dropped
using StagingArea = Queue::extend<caf::replies_to<peek_atom, PeekRequest>::with<Batch>,
                                  caf::replies_to<clear_atom>::with<caf::ok_atom>>;

/// Puts the components of elements together by their keys, whoever brings them.
///   (insert, insert)  -> ok       invalid_argument for a component that a key has already
///   (take, request)   -> batch    of complete elements, in the order in which their keys came
///   (close, request)  -> ok       no new keys; with cancel_pending no more components either
///   (status)          -> status
using Barrier = caf::typed_actor<caf::replies_to<insert_atom, BarrierInsert>::with<caf::ok_atom>,
                                 caf::replies_to<take_atom, DequeueRequest>::with<BarrierBatch>,
                                 caf::replies_to<caf::close_atom, CloseRequest>::with<caf::ok_atom>,
                                 caf::replies_to<status_atom>::with<BarrierStatus>>;

/// Turns records into elements: asks its reader for blocks, decodes them, feeds its queue.
///   (start) -> records     once the reader has ended and the queue holds everything;
///                          the failure, with file and line, when there was one
///   (stop)  -> ok
///   (status) -> status
using Decoder = caf::typed_actor<caf::replies_to<start_atom>::with<std::uint64_t>,
                                 caf::replies_to<stop_atom>::with<caf::ok_atom>,
                                 caf::replies_to<status_atom>::with<StageStatus>>;

/// Feeds a queue with what it makes up itself: names of files, numbers, rows of tensors.
/// The words are those of a decoder, so that whoever starts the one can start the other.
///   (snapshot)          -> snapshot  where the elements begin that nobody has taken out of the
///                                    queue; failed_precondition when the queue cannot tell
///   (restore, snapshot) -> ok        begins there when it is started; data_loss or
///                                    invalid_argument when that is no place in what it gives out
using Producer = Decoder::extend<caf::replies_to<snapshot_atom>::with<ReaderSnapshot>,
                                 caf::replies_to<restore_atom, ReaderSnapshot>::with<caf::ok_atom>>;

/// Receives outputs of a run as soon as they are ready: the tag of the request,
/// the position in FragmentSpec::streamed, the value.
using OutputSink =
    caf::typed_actor<caf::reacts_to<output_atom, std::uint64_t, std::uint32_t, Tensor>>;

/// Owns threads and memory, and runs fragments of graphs.
///   (load, spec)                   -> id        invalid_argument when the graph does not fit
///   (run, id, seed, feeds)         -> result    in the order of the spec's feeds and fetches
///   (run, id, seed, feeds, sink, tag) -> result the same, with streamed outputs sent to the sink
///   (unload, id)                   -> ok
///   (status)                       -> status
using Device = caf::typed_actor<
    caf::replies_to<load_atom, FragmentSpec>::with<FragmentId>,
    caf::replies_to<run_atom, FragmentId, std::uint64_t, TensorList>::with<RunResult>,
    caf::replies_to<run_atom, FragmentId, std::uint64_t, TensorList, OutputSink,
                    std::uint64_t>::with<RunResult>,
    caf::replies_to<unload_atom, FragmentId>::with<caf::ok_atom>,
    caf::replies_to<status_atom>::with<DeviceStatus>>;

/// Gets values from other devices: the step, the edge, the value.
using EdgeSink = caf::typed_actor<caf::reacts_to<edge_atom, std::uint64_t, std::uint32_t, Tensor>>;

/// What one device does of a graph that is cut over several. An edge is known by its number
/// at the part that it leads to.
///   (load, parts)           -> ok      its fragments are on its device; edges lead to these parts
///   (run, step, seed, feeds, sink, tag) -> result   what this part fetches; streamed outputs go to
///                                      the sink. Every step is greater than those before it, and
///                                      is run at all parts
///   (edge, step, edge, value)          one way; may come before the step itself
///   (cancel, step)                     one way: gives the step up and answers cancelled
///   (status)                -> status
using Part = EdgeSink::extend<caf::replies_to<load_atom, std::vector<EdgeSink>>::with<caf::ok_atom>,
                              caf::replies_to<run_atom, std::uint64_t, std::uint64_t, TensorList,
                                              OutputSink, std::uint64_t>::with<RunResult>,
                              caf::reacts_to<cancel_atom, std::uint64_t>,
                              caf::reacts_to<output_atom, std::uint64_t, std::uint32_t, Tensor>,
                              caf::replies_to<status_atom>::with<PartStatus>>;

/// Where replicas get their batches.
///   (next, replica) -> batch     out_of_range at the end of the data
///   (assign, split)              batches from now on are split over the replicas, or not
///   (status)        -> status
using BatchSource = caf::typed_actor<caf::replies_to<next_atom, std::uint32_t>::with<Batch>,
                                     caf::reacts_to<assign_atom, bool>,
                                     caf::replies_to<status_atom>::with<StageStatus>>;

/// A batch source that keeps every batch until it is told what became of it. The coordinator
/// tells, because it alone knows which sets count.
///   (next, replica) -> batch        as above, for one replica of each number at a time: another
///                                   gets what the one before has left, once that is known
///   (settle, settlement)            these sets are part of an update, or are not to be
///   (leave, replica, address, undecided)  the replica at that address has left; on these sets of
///                                   it is to be decided yet. What it had apart from them comes
///                                   first when another replica of that number asks
///   (join, replica)                 it gets its share when batches are split, from the next on
///   (detach, replica)               no more: once it has what is its own already, it gets
///                                   out_of_range
///   (ledger)        -> status
///   (ledger, replica, address) -> status   of what it had, once it is known to have left: what
///                                   is outstanding is what another one will be given
using Feeder = BatchSource::extend<
    caf::reacts_to<settle_atom, Settlement>,
    caf::reacts_to<leave_atom, std::uint32_t, caf::actor_addr, Settlement>,
    caf::reacts_to<join_atom, std::uint32_t>, caf::reacts_to<detach_atom, std::uint32_t>,
    caf::replies_to<ledger_atom>::with<LedgerStatus>,
    caf::replies_to<ledger_atom, std::uint32_t, caf::actor_addr>::with<LedgerStatus>>;

/// A copy of a shard that can take its place.
///   (mirror, copy) -> ok   it is this from now on
///   (log, entry)   -> ok   it has done the same; entries come in the order of the shard's own
using ShardMirror = caf::typed_actor<caf::replies_to<mirror_atom, ShardCopy>::with<caf::ok_atom>,
                                     caf::replies_to<log_atom, ShardEntry>::with<caf::ok_atom>>;

/// One slice of the model's parameters, with the optimizer that updates them.
///   (pull, version known)  -> parameters   without names and values when nothing is newer
///   (pull, rows)           -> rows         of tables; out_of_range for a row that there is not
///   (push, part)                           kept until the commit
///   (commit, commit)       -> result       once the coordinator lets the replica go on
///   (join, replica)        -> result       the same; the sender takes part from now on
///   (leave, replica)       -> ok           it does not any more; so does its death
///   (decide, decision)                     of the coordinator
///   (norm, factor)                         of the coordinator: the decision in hand is carried
///                                          out with gradients multiplied by this
///   (cancel, decision)     -> ok           of the coordinator: if that one is in hand, it is not
///                                          carried out; all that it said before has come
///   (snapshot)             -> snapshot
///   (restore, snapshot)    -> ok           invalid_argument when it does not fit
///   (mirror, copies)                       these have all that it has before it says so to
///                                          anybody; a new one is told everything first
///   (mirror)               -> copy         what one is told that is to be another such shard;
///                                          failed_precondition while a decision is in hand
///   (promote)                              a copy is the shard from now on
///   (status)               -> status
using Shard = ShardMirror::extend<
    caf::replies_to<pull_atom, Version>::with<Parameters>,
    caf::replies_to<pull_atom, RowPull>::with<PulledRows>, caf::reacts_to<push_atom, GradientPart>,
    caf::replies_to<commit_atom, GradientCommit>::with<ApplyResult>,
    caf::replies_to<join_atom, std::uint32_t>::with<ApplyResult>,
    caf::replies_to<leave_atom, std::uint32_t>::with<caf::ok_atom>,
    caf::reacts_to<decide_atom, RoundDecision>, caf::reacts_to<norm_atom, double>,
    caf::replies_to<cancel_atom, std::uint64_t>::with<caf::ok_atom>,
    caf::replies_to<snapshot_atom>::with<ShardSnapshot>,
    caf::replies_to<restore_atom, ShardSnapshot>::with<caf::ok_atom>,
    caf::reacts_to<mirror_atom, std::vector<ShardMirror>>,
    caf::replies_to<mirror_atom>::with<ShardCopy>, caf::reacts_to<promote_atom>,
    caf::replies_to<status_atom>::with<ShardStatus>>;

/// Pulls parameters, computes gradients of batches on its device, pushes them to the shards.
///   (start) -> steps      when the data have ended, the steps are done or it was stopped;
///                         the failure when there was one
///   (stop)  -> ok         after the step that it is in
///   (give_up, version)    what it computes from older parameters will be refused
///   (redirect, shard, handle)   another actor is that shard from now on
///   (status) -> status    input is the batches, output the shards' answers
using Replica = caf::typed_actor<caf::replies_to<start_atom>::with<std::uint64_t>,
                                 caf::replies_to<stop_atom>::with<caf::ok_atom>,
                                 caf::reacts_to<give_up_atom, Version>,
                                 caf::reacts_to<redirect_atom, std::uint32_t, Shard>,
                                 caf::replies_to<status_atom>::with<StageStatus>,
                                 caf::reacts_to<output_atom, std::uint64_t, std::uint32_t, Tensor>>;

/// Decides for all shards of a run what each update is made of. All but (policy), (status),
/// (expect), (assign) and (stop) come from shards; the first number is the shard's.
///   (attach, shard, handle, version, decisions)   its parameters have had so many updates; it
///                                       is sent again what it does not know of the decisions
///   (expect, replica, handle)           that actor will join; its death counts from now on
///   (join, shard, replica, handle)      the replica has joined there
///   (leave, shard, replica, address)    the replica has left there
///   (ready, report)                     the shard has a whole set
///   (norm, shard, number, sum)          sum of the squares of its part of that decision's update
///   (norm, shard, number, failure)      that update cannot be made
///   (cancel, shard) -> ok               of an all-reduce: that shard is lost, with what its
///                                       replica has pushed, or is not there yet, or is about to
///                                       leave. The update in hand is taken back unless all have
///                                       it; then all shards have carried out the same, and nothing
///                                       more is decided before (start)
///   (detach, shard)                     it will not be among those who go on
///   (start)                             they do, once others have attached for all that are lost
///   (assign, feeder)                    it is told what becomes of its batches, who leaves, and
///                                       whether batches are to be split, when that changes
///   (stop)                              nobody will take the place of replicas that were lost
///   (policy, text) -> ok                another one rules from now on: at the end of a round
///                                       all replicas wait until it does; invalid_argument or
///                                       not_found for one that there is not
///   (status)       -> status
using Coordinator = caf::typed_actor<
    caf::reacts_to<attach_atom, std::uint32_t, Shard, Version, std::uint64_t>,
    caf::reacts_to<expect_atom, std::uint32_t, Replica>, caf::reacts_to<assign_atom, Feeder>,
    caf::reacts_to<join_atom, std::uint32_t, std::uint32_t, Replica>,
    caf::reacts_to<leave_atom, std::uint32_t, std::uint32_t, caf::actor_addr>,
    caf::reacts_to<ready_atom, SetReport>,
    caf::reacts_to<norm_atom, std::uint32_t, std::uint64_t, double>,
    caf::reacts_to<norm_atom, std::uint32_t, std::uint64_t, caf::error>,
    caf::replies_to<cancel_atom, std::uint32_t>::with<caf::ok_atom>,
    caf::reacts_to<detach_atom, std::uint32_t>, caf::reacts_to<start_atom>,
    caf::reacts_to<stop_atom>, caf::replies_to<policy_atom, std::string>::with<caf::ok_atom>,
    caf::replies_to<status_atom>::with<AggregationStatus>>;

/// Keeps shards and their copies: puts a copy in the place of a shard that died, and makes a
/// new copy.
///   (attach, number, replica) -> ok     it has been told which of its shards are others now, and
///                                       is told of each change. Only then may it join them
///   (redirect, shard, address) -> shard   as soon as it is another actor than that
using ShardKeeper =
    caf::typed_actor<caf::replies_to<attach_atom, std::uint32_t, Replica>::with<caf::ok_atom>,
                     caf::replies_to<redirect_atom, std::uint32_t, caf::actor_addr>::with<Shard>>;

/// Computes loss and metrics of a fixed set of examples with the newest parameters.
///   (run) -> result
using Evaluator = caf::typed_actor<caf::replies_to<run_atom>::with<EvaluationResult>>;

/// Receives what a shard has, each time a version is reached that is to be kept.
using SnapshotSink = caf::typed_actor<caf::reacts_to<snapshot_atom, ShardSnapshot>>;

/// Writes checkpoints.
///   (snapshot, snapshot)           one way; written as soon as all shards have sent that version
///   (save, snapshots) -> saved     one snapshot of each shard, written now
using Checkpointer = SnapshotSink::extend<
    caf::replies_to<save_atom, std::vector<ShardSnapshot>>::with<SavedCheckpoint>>;

/// Hears about every step, every checkpoint and every event of a training run.
using TrainingListener = caf::typed_actor<caf::reacts_to<report_atom, StepReport>,
                                          caf::reacts_to<report_atom, SavedCheckpoint>,
                                          caf::reacts_to<report_atom, TrainingEvent>>;

/// Keeps what was reported where people can look at it (TensorBoard).
///   (report, step)         one way
///   (report, evaluation)   one way
///   (stop) -> ok           everything so far is on disk
using SummaryWriter = caf::typed_actor<caf::reacts_to<report_atom, StepReport>,
                                       caf::reacts_to<report_atom, EvaluationResult>,
                                       caf::replies_to<stop_atom>::with<caf::ok_atom>>;

/// Leads a training run: starts and stops its actors, watches them, says how it goes.
///   (start) -> outcome     when the run has ended, one way or the other
///   (stop)  -> ok          end after the steps in progress, with a checkpoint
using Conductor = TrainingListener::extend<caf::replies_to<start_atom>::with<TrainingOutcome>,
                                           caf::replies_to<stop_atom>::with<caf::ok_atom>,
                                           caf::reacts_to<tick_atom>>;

}  // namespace troupe

// Handles travel too.
CAF_BEGIN_TYPE_ID_BLOCK(troupe_handles, caf::id_block::troupe::end)

CAF_ADD_TYPE_ID(troupe_handles, (troupe::Reader))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Queue))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Decoder))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::OutputSink))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Device))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::BatchSource))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Shard))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Replica))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Evaluator))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::SnapshotSink))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Checkpointer))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::TrainingListener))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::SummaryWriter))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Conductor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Barrier))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::StagingArea))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::EdgeSink))
CAF_ADD_TYPE_ID(troupe_handles, (std::vector<troupe::EdgeSink>))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Part))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Producer))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Coordinator))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::ShardMirror))
CAF_ADD_TYPE_ID(troupe_handles, (std::vector<troupe::ShardMirror>))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::ShardKeeper))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::Feeder))

CAF_END_TYPE_ID_BLOCK(troupe_handles)
