#include "troupe/actors/pipeline/pipeline_keeper.h"

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <iterator>
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

/// A snapshot in the making.
struct PipelineKeeperState::Snapshot {
  PipelineSnapshot made;
  std::vector<ReadingState> reading;  // by number of the reader
  std::size_t missing = 0;            // answers
  caf::typed_response_promise<PipelineSnapshot> promise;
};

void PipelineKeeperState::begin(KeeperOptions options) {
  options_ = std::move(options);
  edits_.resize(options_.lanes.size());
  for (std::size_t i = 0; i < options_.lanes.size(); ++i) {
    auto& lane = options_.lanes[i];
    const auto number = static_cast<std::uint32_t>(i);
    readers_.push_back({lane.name, lane.reader, i, lane.reader ? At::work : At::gone});
    edits_[i].decoders = lane.decoders.size();
    next_decoder_ += lane.decoders.size();
    for (auto& [name, handle] : std::exchange(lane.decoders, {}))
      decoders_.push_back({name, handle, number});
    lane.reader = Reader();
  }
}

void PipelineKeeperState::enqueue(std::function<void()> job) {
  jobs_.push_back(std::move(job));
  if (!at_job_) done();
}

void PipelineKeeperState::done() {
  at_job_ = !jobs_.empty();
  if (!at_job_) return;
  const auto job = std::move(jobs_.front());
  jobs_.pop_front();
  job();
}

// ---- snapshots -------------------------------------------------------------------------------

void PipelineKeeperState::give_up(const SnapshotPtr& snapshot, const std::string& whom,
                                  const caf::error& why) {
  if (snapshot->promise.pending()) snapshot->promise.deliver(fault(to_error(why).within(whom)));
}

caf::result<PipelineSnapshot> PipelineKeeperState::snapshot() {
  const auto snapshot = std::make_shared<Snapshot>();
  auto promise = snapshot->promise = self_->make_response_promise<PipelineSnapshot>();
  enqueue([this, snapshot] {
    snapshot->missing = 1;
    const auto next = [this, snapshot] {
      if (--snapshot->missing == 0) ask_queue(snapshot);
    };
    for (const auto& reader : readers_) {
      if (reader.at == At::gone || !options_.lanes[reader.lane].positioned) continue;
      ++snapshot->missing;
      self_->request(caf::actor_cast<SavableReader>(reader.handle), caf::infinite, cut_atom_v)
          .then([next](caf::ok_atom) { next(); },
                [this, next, snapshot, whom = reader.name](const caf::error& why) {
                  give_up(snapshot, whom, why);
                  next();
                });
    }
    next();
  });
  return promise;
}

void PipelineKeeperState::ask_queue(const SnapshotPtr& snapshot) {
  self_->request(options_.queue, caf::infinite, snapshot_atom_v)
      .then(
          [this, snapshot](QueueSnapshot& queue) {
            snapshot->made.queue = std::move(queue);
            ask_readers(snapshot);
          },
          [this, snapshot](const caf::error& why) {
            give_up(snapshot, "the queue", why);
            ask_readers(snapshot);
          });
}

/// The last step, which every reader must see: it ends what the first one began. A piece that
/// was dealt out between the answers of two of them would be lost or come twice.
void PipelineKeeperState::ask_readers(const SnapshotPtr& snapshot) {
  dealing_ = false;
  snapshot->reading.resize(readers_.size());
  snapshot->missing = 1;
  const auto next = [this, snapshot] {
    if (--snapshot->missing == 0) finish(snapshot);
  };
  const auto& receipts = snapshot->made.queue.receipts;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    const auto& reader = readers_[i];
    if (reader.at == At::gone || !options_.lanes[reader.lane].positioned) continue;
    ++snapshot->missing;
    self_
        ->request(caf::actor_cast<SavableReader>(reader.handle), caf::infinite, cut_atom_v,
                  i < receipts.size() ? receipts[i] : BlockReceipts{})
        .then(
            [next, snapshot, i](ReadingState& state) {
              snapshot->reading[i] = std::move(state);
              next();
            },
            [this, next, snapshot, whom = reader.name](const caf::error& why) {
              give_up(snapshot, whom, why);
              next();
            });
  }
  next();
}

/// What is known by reader is put together by lane.
void PipelineKeeperState::finish(const SnapshotPtr& snapshot) {
  auto& made = snapshot->made;
  made.lanes.resize(options_.lanes.size());
  std::vector<BlockReceipts> receipts(made.lanes.size());
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    const auto lane = readers_[i].lane;
    auto& to = made.lanes[lane];
    auto& reading = snapshot->reading[i];
    std::move(reading.again.begin(), reading.again.end(), std::back_inserter(to.reading.again));
    if (!edits_[lane].pieces) to.reading.position = std::move(reading.position);
    if (i >= made.queue.receipts.size()) continue;
    to.elements += made.queue.receipts[i].elements;
    to.left_out += made.queue.receipts[i].left_out;
    if (i == lane) receipts[lane] = made.queue.receipts[i];
  }
  for (std::size_t i = 0; i < made.lanes.size(); ++i) {
    auto& to = made.lanes[i];
    to.description = options_.lanes[i].description;
    to.positioned = options_.lanes[i].positioned;
    receipts[i].elements = to.elements;
    receipts[i].left_out = to.left_out;
    if (!edits_[i].pieces) continue;
    auto rest = edits_[i].pieces->all();
    std::move(rest.again.begin(), rest.again.end(), std::back_inserter(to.reading.again));
    to.reading.position = std::move(rest.position);
  }
  made.queue.receipts = std::move(receipts);
  if (made.queue.last_reader < readers_.size())
    made.queue.last_reader = static_cast<std::uint32_t>(readers_[made.queue.last_reader].lane);
  if (snapshot->promise.pending()) snapshot->promise.deliver(std::move(made));
  dealing_ = true;
  serve();
  done();
}

PipelineEditor::behavior_type pipeline_keeper(
    PipelineEditor::stateful_pointer<PipelineKeeperState> self, KeeperOptions options) {
  auto& s = self->state;
  s.begin(std::move(options));
  return {
      [&s](start_atom) { return s.start(); },
      [&s](stop_atom) {
        s.stop();
        return caf::ok_atom_v;
      },
      [](status_atom) { return StageStatus(); },
      [&s](snapshot_atom) { return s.snapshot(); },
      [&s](take_atom, std::uint32_t number) { return s.take(number); },
      [&s](join_atom, const std::string& kind) { return s.add(kind); },
      [&s](leave_atom, const std::string& kind, const std::string& name) {
        return s.remove(kind, name);
      },
      [&s](status_atom, const std::string& kind) { return s.count(kind); },
  };
}

}  // namespace troupe
