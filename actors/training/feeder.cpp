#include "troupe/actors/training/feeder.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using Self = SavingFeeder::stateful_pointer<FeederState>;

Batch share(const Batch& batch, std::uint32_t index, std::uint32_t count) {
  if (count == 1) return batch;
  const auto rows = batch.rows();
  const auto begin = rows * index / count;
  const auto end = rows * (index + 1) / count;
  Batch part;
  // Shares of one batch follow one another in deterministic mode.
  part.sequence = batch.sequence * count + index;
  for (const auto& component : batch.components)
    part.components.push_back(component.slice(begin, end));
  return part;
}

/// It has asked, and there is nothing for it here; `who` is its number.
bool wants_more(const FeederState& s, std::uint32_t who, const FeederState::Seat& seat) {
  if (s.split ? s.members.count(who) == 0 : s.retired.count(who) > 0) return false;
  return !s.ledger.undecided(who) && seat.taken_by &&
         std::any_of(seat.requests.begin(), seat.requests.end(),
                     [&](const auto& request) { return request.from == seat.taken_by; });
}

auto first_that_wants_more(FeederState& s) {
  return std::find_if(s.seats.begin(), s.seats.end(),
                      [&](const auto& seat) { return wants_more(s, seat.first, seat.second); });
}

/// Answers the replica of that number, if it has asked and there is something to say.
void serve(FeederState& s, std::uint32_t replica, FeederState::Seat& seat) {
  // What the one before had comes first, and may still count.
  if (!seat.taken_by || s.ledger.undecided(replica)) return;
  const auto request = std::find_if(seat.requests.begin(), seat.requests.end(),
                                    [&](const auto& r) { return r.from == seat.taken_by; });
  if (request == seat.requests.end()) return;
  auto batch = s.ledger.hand_out(replica);
  const bool retired = s.retired.count(replica) > 0;
  if (!batch && !retired && !s.end) return;
  auto promise = std::move(request->promise);
  seat.requests.erase(request);
  if (batch)
    promise.deliver(std::move(*batch));
  else if (retired)
    promise.deliver(fault(Code::out_of_range, "replica ", replica, " gets no more batches"));
  else
    promise.deliver(s.end);
}

/// A batch has come: puts it down for whom it is meant.
void take_in(FeederState& s, Batch batch) {
  if (s.split && !s.members.empty()) {
    std::uint32_t index = 0;
    const auto count = static_cast<std::uint32_t>(s.members.size());
    for (const auto replica : s.members) {
      s.ledger.add(replica, share(batch, index++, count));
      serve(s, replica, s.seats[replica]);
    }
    return;
  }
  if (const auto whose = s.replayed.extract(batch.sequence)) {
    const auto replica = whose.mapped();
    s.ledger.add(replica, std::move(batch));
    return serve(s, replica, s.seats[replica]);
  }
  const auto first = first_that_wants_more(s);
  // Whoever asked may have left meanwhile.
  if (first == s.seats.end()) return s.ledger.add(std::move(batch));
  if (s.recorder) s.recorder->append({RecordedEvent::Kind::batch, first->first, batch.sequence});
  s.ledger.add(first->first, std::move(batch));
  serve(s, first->first, first->second);
}

// ---- checkpoints -----------------------------------------------------------------------------

/// Answers whoever asked for a state of which everything has come. When no more batches come,
/// one that had left the queue for us, but could not be made, is lost.
void deliver_cuts(FeederState& s) {
  std::erase_if(s.cuts, [&](const std::shared_ptr<FeederState::Cut>& cut) {
    auto& [state, arrived, has_snapshot, promise] = *cut;
    const auto next = state.pipeline.next();
    if (!has_snapshot || (s.received < next && (s.asked || !s.end))) return false;
    if (s.received < next && code_of(s.end) != Code::out_of_range && state.missing.empty())
      state.missing = to_error(s.end).what();
    const auto add = [&, &state = state](Batch& batch) {
      if (batch.sequence >= s.first_batch)
        state.outstanding.push_back({LeftBatch::kAnyReplica, std::move(batch)});
    };
    for (auto& batch : arrived)
      if (batch.sequence < next) add(batch);
    for (auto& batch : std::exchange(state.pipeline.left, {})) add(batch);
    promise.deliver(std::move(state));
    return true;
  });
}

void note_arrival(FeederState& s, const Batch& batch) {
  s.received = std::max(s.received, batch.sequence + 1);
  for (const auto& cut : s.cuts) cut->arrived.push_back(batch);
  deliver_cuts(s);
}

caf::result<DataState> cut(Self self, const FeederOptions& options,
                           const AggregationStatus& status) {
  auto& s = self->state;
  const auto cut = std::make_shared<FeederState::Cut>();
  auto& state = cut->state;
  const auto books = s.ledger.status();
  state.version = status.version;
  state.aggregation = status;
  state.seed = options.seed;
  state.rows = options.batch;
  state.replicas = static_cast<std::uint32_t>(s.members.size());
  state.split = s.split;
  state.trained = s.trained_before + books.trained;
  state.first_batch = s.first_batch;
  for (const auto& left : books.outstanding)
    state.outstanding.push_back({left.replica, left.batch});
  if (!options.keeper) {
    state.missing = "nobody keeps the pipeline";
    return state;
  }
  s.cuts.push_back(cut);
  cut->promise = self->make_response_promise<DataState>();
  self->request(options.keeper, caf::infinite, snapshot_atom_v)
      .then(
          [self, cut](PipelineSnapshot& snapshot) {
            cut->state.pipeline = std::move(snapshot);
            cut->has_snapshot = true;
            deliver_cuts(self->state);
          },
          [self, cut](const caf::error& why) {
            cut->state.missing = to_error(why).what();
            cut->has_snapshot = true;
            deliver_cuts(self->state);
          });
  return cut->promise;
}

/// Puts what was outstanding into the books.
void go_on_from(FeederState& s, const FeederOptions& options, const DataState& from) {
  s.trained_before = from.trained;
  s.received = std::max(s.received, from.pipeline.queue.batches);
  s.first_batch = std::max({s.first_batch, from.first_batch, from.pipeline.queue.batches});
  const bool as_shares =
      from.split && options.split && from.replicas == options.replicas &&
      std::ranges::all_of(from.outstanding, [&](const LeftBatch& left) {
        return left.replica < options.replicas || left.replica == LeftBatch::kAnyReplica;
      });
  auto batches = from.outstanding;
  if (!as_shares)
    std::stable_sort(batches.begin(), batches.end(), [](const auto& a, const auto& b) {
      return a.batch.sequence < b.batch.sequence;
    });
  for (auto& [replica, batch] : batches)
    if (as_shares && replica != LeftBatch::kAnyReplica)
      s.ledger.add(replica, std::move(batch));
    else
      s.ledger.add(std::move(batch));
}

// ---- batches ---------------------------------------------------------------------------------

void ask(Self self, const FeederOptions& options) {
  auto& s = self->state;
  while (!s.stopped && first_that_wants_more(s) != s.seats.end()) {
    auto unclaimed = s.ledger.take_unclaimed();
    if (!unclaimed) break;
    take_in(s, std::move(*unclaimed));
  }
  if (s.end)
    for (auto& [replica, seat] : s.seats) serve(s, replica, seat);
  if (s.asked || s.end || first_that_wants_more(s) == s.seats.end()) return;
  s.asked = true;
  s.clock.enter(StageActivity::waiting_for_input);
  DequeueRequest request;
  request.count = options.batch;
  request.up_to = !options.drop_remainder;
  self->request(options.queue, caf::infinite, dequeue_atom_v, request)
      .then(
          [self, options](Batch& batch) {
            auto& s = self->state;
            s.asked = false;
            s.clock.enter(StageActivity::waiting_for_output);
            s.clock.passed_on(static_cast<std::uint64_t>(batch.rows()), 0);
            note_arrival(s, batch);
            if (batch.sequence >= s.first_batch)
              s.stopped ? s.ledger.add(std::move(batch)) : take_in(s, std::move(batch));
            ask(self, options);
          },
          [self, options](caf::error& error) {
            auto& s = self->state;
            s.asked = false;
            s.clock.enter(StageActivity::idle);
            if (!s.end) s.end = error;
            deliver_cuts(s);
            ask(self, options);
          });
}

caf::result<Batch> next(Self self, const FeederOptions& options, std::uint32_t replica) {
  auto& s = self->state;
  auto& seat = s.seats[replica];
  const auto from = self->current_sender()->address();
  if (from == seat.left)
    return fault(Code::cancelled, "feeder: that replica ", replica, " has left");
  for (const auto& request : seat.requests)
    if (request.from == from)
      return fault(Code::failed_precondition, "feeder: replica ", replica,
                   " asked for a batch twice");
  if (!seat.taken_by) seat.taken_by = from;
  auto promise = self->make_response_promise<Batch>();
  seat.requests.push_back({from, promise});
  if (!s.end) serve(s, replica, seat);
  ask(self, options);
  return promise;
}

/// The replica at that address is lost, or done.
void leave(FeederState& s, std::uint32_t replica, const caf::actor_addr& who,
           const Settlement& undecided) {
  auto& seat = s.seats[replica];
  std::erase_if(seat.requests, [&](auto& request) {
    if (request.from != who) return false;
    request.promise.deliver(fault(Code::cancelled, "feeder: replica ", replica, " has left"));
    return true;
  });
  seat.left = who;
  if (seat.taken_by == who) {
    s.ledger.depart(replica, undecided);
    seat.taken_by = seat.requests.empty() ? caf::actor_addr() : seat.requests.front().from;
  }
  std::erase_if(s.questions, [&](auto& question) {
    if (question.replica != replica || question.who != who) return false;
    question.promise.deliver(s.ledger.left_by(replica));
    return true;
  });
  serve(s, replica, seat);
}

caf::result<LedgerStatus> tell_left(Self self, std::uint32_t replica, const caf::actor_addr& who) {
  auto& s = self->state;
  if (s.seats[replica].left == who) return s.ledger.left_by(replica);
  auto promise = self->make_response_promise<LedgerStatus>();
  s.questions.push_back({replica, who, promise});
  return promise;
}

/// Replicas get what is theirs already, each as much as the others where batches are split.
void stop(Self self, const FeederOptions& options) {
  self->state.stopped = true;
  if (!self->state.end)
    self->state.end = fault(Code::cancelled, "feeder: no more batches are handed out");
  ask(self, options);
}

/// The books are now as of that version of the parameters.
void settle(Self self, const FeederOptions& options, const Settlement& settlement) {
  auto& s = self->state;
  s.ledger.settle(settlement);
  // Whose requests had to wait for what becomes of the sets of the one before.
  for (const auto& set : settlement.sets) serve(s, set.replica, s.seats[set.replica]);
  ask(self, options);
}

}  // namespace

SavingFeeder::behavior_type feeder(Self self, FeederOptions options) {
  self->state.split = options.split;
  if (!options.record.empty())
    self->state.recorder = std::make_shared<RunRecorder>(options.record, options.run);
  if (!options.replay.empty())
    for (const auto& event : read_recording(options.replay, options.run))
      self->state.replayed[event.number] = event.replica;
  self->state.received = options.begins;
  self->state.first_batch = options.first_batch;
  if (options.from) go_on_from(self->state, options, *options.from);
  options.from.reset();  // the books have it
  for (std::uint32_t i = 0; i < options.replicas; ++i) self->state.members.insert(i);
  return {
      [self, options](next_atom, std::uint32_t replica) { return next(self, options, replica); },
      [self, options](assign_atom, bool split) {
        self->state.split = split;
        ask(self, options);
      },
      [self](status_atom) { return self->state.clock.read(); },
      [self, options](settle_atom, const Settlement& settlement) {
        settle(self, options, settlement);
      },
      [self, options](leave_atom, std::uint32_t replica, const caf::actor_addr& who,
                      const Settlement& undecided) {
        leave(self->state, replica, who, undecided);
        ask(self, options);
      },
      [self, options](join_atom, std::uint32_t replica) {
        if (self->state.retired.count(replica) == 0) self->state.members.insert(replica);
        ask(self, options);
      },
      [self, options](detach_atom, std::uint32_t replica) {
        if (replica == LeftBatch::kAnyReplica) return stop(self, options);
        self->state.members.erase(replica);
        self->state.retired.insert(replica);
        serve(self->state, replica, self->state.seats[replica]);
        ask(self, options);
      },
      [self](ledger_atom) { return self->state.ledger.status(); },
      [self](ledger_atom, std::uint32_t replica, const caf::actor_addr& who) {
        return tell_left(self, replica, who);
      },
      [self, options](cut_atom, const AggregationStatus& status) {
        return cut(self, options, status);
      },
  };
}

}  // namespace troupe
