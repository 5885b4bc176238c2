// The part of a pipeline's keeper that lets readers and decoders come and go.

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/actors/pipeline/pipeline_keeper.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

constexpr std::size_t kMost = 1024;  // readers at work, and decoders

[[noreturn]] void no_such_kind(const std::string& kind) {
  fail(Code::invalid_argument, "readers and decoders come and go, but no '", kind, "'");
}

}  // namespace

// ---- words -----------------------------------------------------------------------------------

caf::result<std::string> PipelineKeeperState::add(const std::string& kind) {
  auto promise = self_->make_response_promise<std::string>();
  enqueue([this, kind, promise]() mutable {
    try {
      expect_change();
      if (kind == "reader") {
        std::vector<std::size_t> lanes;
        for (std::size_t i = 0; i < edits_.size(); ++i) lanes.push_back(i);
        std::stable_sort(lanes.begin(), lanes.end(), [this](std::size_t a, std::size_t b) {
          return working(a).size() < working(b).size();
        });
        return try_lanes(std::move(lanes), promise);
      }
      if (kind != "decoder") no_such_kind(kind);
      const auto lane = lane_for_decoder(true);
      auto& wanted = edits_[lane].decoders;
      wanted = std::max(wanted, working(lane).size()) + 1;
      const auto name = text(options_.prefix, "decoder ", next_decoder_);
      balance(lane);
      promise.deliver(name);
    } catch (...) {
      promise.deliver(current_fault());
    }
    done();
  });
  return promise;
}

caf::result<std::string> PipelineKeeperState::remove(const std::string& kind,
                                                     const std::string& name) {
  auto promise = self_->make_response_promise<std::string>();
  enqueue([this, kind, name, promise]() mutable {
    try {
      expect_change();
      if (kind == "reader") return remove_reader(reader_to_remove(name), promise);
      if (kind != "decoder") no_such_kind(kind);
      const auto lane = lane_for_decoder(false);
      auto& wanted = edits_[lane].decoders;
      wanted = std::max(wanted, working(lane).size()) - 1;
      balance(lane);
      promise.deliver(retired_);
    } catch (...) {
      promise.deliver(current_fault());
    }
    done();
  });
  return promise;
}

caf::result<std::int64_t> PipelineKeeperState::count(const std::string& kind) const {
  return answer([&] {
    std::size_t sum = 0;
    if (kind != "reader" && kind != "decoder") no_such_kind(kind);
    for (std::size_t lane = 0; lane < edits_.size(); ++lane) {
      const auto readers = working(lane).size();
      sum += kind == "reader" ? readers
             : readers == 0   ? 0
                              : std::max(readers, edits_[lane].decoders);
    }
    return static_cast<std::int64_t>(sum);
  });
}

caf::result<std::uint64_t> PipelineKeeperState::start() {
  if (stopped_) return fault(Code::cancelled, "the pipeline has been stopped");
  if (started_.pending())
    return fault(Code::failed_precondition, "the pipeline has been started already");
  started_ = self_->make_response_promise<std::uint64_t>();
  return started_;
}

void PipelineKeeperState::stop() {
  stopped_ = true;
  for (const auto& decoder : decoders_)
    if (decoder.came_later) caf::anon_send(decoder.handle, stop_atom_v);
  if (started_.pending()) started_.deliver(std::uint64_t{0});
}

void PipelineKeeperState::expect_change() const {
  if (stopped_)
    fail(Code::failed_precondition,
         "the pipeline is stopping: readers and decoders stay as they are");
}

// ---- readers ---------------------------------------------------------------------------------

std::vector<std::uint32_t> PipelineKeeperState::working(std::size_t lane) const {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < readers_.size(); ++i)
    if (readers_[i].lane == lane && readers_[i].at == At::work) numbers.push_back(i);
  return numbers;
}

/// Adds a reader to the first lane that can have one.
void PipelineKeeperState::try_lanes(std::vector<std::size_t> lanes, Named promise) {
  const auto lane = lanes.front();
  lanes.erase(lanes.begin());
  auto refuse = [this, lanes, promise](const caf::error& why) mutable {
    if (!lanes.empty()) return try_lanes(std::move(lanes), promise);
    promise.deliver(why);
    done();
  };
  const auto& kept = options_.lanes[lane];
  auto go_on = [this, lane, promise, refuse]() mutable {
    try {
      if (edits_[lane].pieces->empty())
        fail(Code::failed_precondition, "there is nothing for another reader of ",
             options_.lanes[lane].description,
             ": those that there are have begun with the last of it");
      add_reader(lane, promise);
      done();
    } catch (...) {
      refuse(current_fault());
    }
  };
  try {
    if (!kept.fixed.empty()) fail(Code::failed_precondition, kept.fixed);
    if (working(lane).size() >= kMost)
      fail(Code::failed_precondition, "there are ", kMost, " readers of ", kept.description);
    if (edits_[lane].pieces) return go_on();
    const std::shared_ptr<RecordSource> source = kept.open();
    if (source->pieces() < 2)
      fail(Code::failed_precondition, kept.description,
           " can only be read by one reader: several can share several files, or several epochs");
    self_
        ->request(caf::actor_cast<SharingReader>(readers_[lane].handle), caf::infinite, join_atom_v,
                  caf::actor_cast<caf::actor>(self_), static_cast<std::uint32_t>(lane))
        .then(
            [this, lane, go_on, source](const ReadingState& state) mutable {
              edits_[lane].pieces.emplace(source, state.position);
              go_on();
            },
            [refuse, words = kept.description](const caf::error& why) mutable {
              const bool ended = code_of(why) == Code::out_of_range;
              refuse(ended ? fault(Code::failed_precondition, words, " has been read to its end")
                           : why);
            });
  } catch (...) {
    refuse(current_fault());
  }
}

void PipelineKeeperState::add_reader(std::size_t lane, Named promise) {
  const auto number = static_cast<std::uint32_t>(readers_.size());
  const auto name = text(options_.prefix, "reader ", number);
  readers_.push_back(
      {name, options_.lanes[lane].spawn_reader(name, caf::actor_cast<caf::actor>(self_), number),
       lane, At::work});
  balance(lane);
  promise.deliver(name);
}

std::uint32_t PipelineKeeperState::reader_to_remove(const std::string& name) const {
  std::string why = "there is one reader";
  for (auto i = static_cast<std::uint32_t>(readers_.size()); i-- > 0;) {
    const auto& reader = readers_[i];
    if (reader.at != At::work || (!name.empty() && reader.name != name)) continue;
    if (working(reader.lane).size() > 1) return i;
    why = text(reader.name, " is the only reader that reads ",
               options_.lanes[reader.lane].description);
    if (!name.empty()) fail(Code::failed_precondition, why, ": stop the run instead");
  }
  if (!name.empty())
    fail(Code::not_found, "no '", name, "' reads here, or it is leaving or at the end already");
  fail(Code::failed_precondition, why, ": stop the run instead");
}

void PipelineKeeperState::remove_reader(std::uint32_t number, Named promise) {
  const auto lane = readers_[number].lane;
  readers_[number].at = At::leaving;
  ++edits_[lane].handing_back;
  self_
      ->request(caf::actor_cast<SharingReader>(readers_[number].handle), caf::infinite,
                leave_atom_v)
      .then(
          [this, lane, number, promise](const ReadingState& left) mutable {
            --edits_[lane].handing_back;
            edits_[lane].pieces->hand_back(left.again);
            serve();
            // Before its own leave, so that the queue is never without a producer.
            balance(lane);
            for (auto& decoder : decoders_)
              if (decoder.reader == number && !decoder.leaving) retire(decoder);
            promise.deliver(readers_[number].name);
            done();
          },
          [this, lane, promise](const caf::error& why) mutable {
            --edits_[lane].handing_back;
            promise.deliver(why);
            done();
          });
}

// ---- pieces ----------------------------------------------------------------------------------

caf::result<ReadingState> PipelineKeeperState::take(std::uint32_t number) {
  if (number >= readers_.size() || !edits_[readers_[number].lane].pieces)
    return fault(Code::failed_precondition, "reader ", number, " shares nothing with others");
  auto promise = self_->make_response_promise<ReadingState>();
  waiting_.push_back({number, promise});
  serve();
  return promise;
}

/// Deals out what there is. While somebody may hand something back, nobody is told that nothing
/// is left.
void PipelineKeeperState::serve() {
  if (!dealing_) return;
  for (auto& [number, promise] : std::exchange(waiting_, {})) {
    auto& reader = readers_[number];
    auto& lane = edits_[reader.lane];
    if (reader.at != At::work) {
      promise.deliver(fault(Code::out_of_range, reader.name, " is leaving"));
    } else if (auto piece = lane.pieces->take()) {
      promise.deliver(ReadingState{{std::move(*piece)}, {}});
    } else if (lane.handing_back > 0) {
      waiting_.push_back({number, promise});
    } else {
      reader.at = At::end;
      promise.deliver(fault(Code::out_of_range, "all pieces have been dealt out"));
    }
  }
}

// ---- decoders --------------------------------------------------------------------------------

/// Where one more changes most, or one less changes least.
std::size_t PipelineKeeperState::lane_for_decoder(bool add) const {
  std::optional<std::size_t> best;
  std::string why = "there are no decoders here: the pipeline is filled by hand, or at its end";
  for (std::size_t lane = 0; lane < edits_.size(); ++lane) {
    const auto readers = working(lane).size();
    if (readers == 0) continue;
    const auto now = std::max(readers, edits_[lane].decoders);
    if (add ? now >= kMost : now <= readers) {
      why = add ? text("there are ", kMost, " decoders") : "each reader has one decoder at least";
      continue;
    }
    const auto other = best ? std::max(working(*best).size(), edits_[*best].decoders) : 0;
    if (!best || (add ? now < other : now > other)) best = lane;
  }
  if (!best) fail(Code::failed_precondition, why);
  return *best;
}

std::size_t PipelineKeeperState::decoders_of(std::uint32_t reader) const {
  return static_cast<std::size_t>(std::count_if(
      decoders_.begin(), decoders_.end(),
      [reader](const auto& decoder) { return decoder.reader == reader && !decoder.leaving; }));
}

/// Shares the decoders out among the readers. Those that come do so before others leave.
void PipelineKeeperState::balance(std::size_t lane) {
  const auto readers = working(lane);
  if (readers.empty()) return;
  const auto all = std::max(edits_[lane].decoders, readers.size());
  const auto share = [&](std::size_t i) {
    return all / readers.size() + (i < all % readers.size() ? 1 : 0);
  };
  for (std::size_t i = 0; i < readers.size(); ++i)
    while (decoders_of(readers[i]) < share(i)) add_decoder(readers[i]);
  for (std::size_t i = 0; i < readers.size(); ++i)
    for (auto decoder = decoders_.rbegin();
         decoder != decoders_.rend() && decoders_of(readers[i]) > share(i); ++decoder)
      if (decoder->reader == readers[i] && !decoder->leaving) retire(*decoder);
}

void PipelineKeeperState::add_decoder(std::uint32_t reader) {
  const auto& lane = options_.lanes[readers_[reader].lane];
  const auto name = text(options_.prefix, "decoder ", next_decoder_++);
  const auto handle = lane.spawn_decoder(name, readers_[reader].handle, reader);
  decoders_.push_back({name, handle, reader, true});
  self_->request(handle, caf::infinite, start_atom_v)
      .then([](std::uint64_t) {},
            [this](const caf::error& why) {
              // A queue that has closed meanwhile takes nobody in; who closed it has said why.
              if (stopped_ || code_of(why) == Code::cancelled || !started_.pending()) return;
              started_.deliver(why);
            });
}

void PipelineKeeperState::retire(KeptDecoder& decoder) {
  decoder.leaving = true;
  retired_ = decoder.name;
  const auto gone = [this, name = decoder.name] { forget_decoder(name); };
  self_->request(decoder.handle, caf::infinite, leave_atom_v)
      .then([gone](caf::ok_atom) { gone(); },
            [](const caf::error&) {});  // its reader has to say what was lost with it
}

/// With its last decoder a reader that leaves has nothing to remember any more.
void PipelineKeeperState::forget_decoder(const std::string& name) {
  const auto found = std::find_if(decoders_.begin(), decoders_.end(),
                                  [&](const auto& decoder) { return decoder.name == name; });
  if (found == decoders_.end()) return;
  const auto number = found->reader;
  options_.forget(caf::actor_cast<caf::actor>(found->handle));
  decoders_.erase(found);
  const bool last = std::none_of(decoders_.begin(), decoders_.end(),
                                 [&](const auto& decoder) { return decoder.reader == number; });
  if (!last || readers_[number].at != At::leaving) return;
  enqueue([this, number] {
    auto& reader = readers_[number];
    self_->send(caf::actor_cast<SharingReader>(reader.handle), end_atom_v);
    options_.forget(caf::actor_cast<caf::actor>(reader.handle));
    reader.handle = Reader();
    reader.at = At::gone;
    done();
  });
}

}  // namespace troupe
