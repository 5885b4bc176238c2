#include "troupe/actors/pipeline/feed_actor.h"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/messages/tick.h"

namespace troupe {
namespace {

using Self = Decoder::stateful_pointer<FeedActorState>;

constexpr std::size_t kBlock = 64;

/// Tells the queue, whoever pushes and whoever started us that this is all.
void finish(Self self, const CloseReason& reason) {
  auto& f = self->state;
  if (!std::exchange(f.running, false)) return;
  f.clock.enter(StageActivity::idle);
  f.feed->end(Error(reason.code, reason.message));
  const auto answer = [self, reason] {
    auto& f = self->state;
    auto promise = std::exchange(f.started, {});  // which would keep us alive
    if (reason.failed())
      promise.deliver(fault(reason.code, reason.message));
    else
      promise.deliver(f.records);
  };
  self->request(f.queue, caf::infinite, detach_atom_v, reason)
      .then([answer](caf::ok_atom) { answer(); }, [answer](const caf::error&) { answer(); });
}

void fail_with(Self self, const caf::error& why) {
  const auto error = to_error(why);
  finish(self, {error.code(), error.what()});
}

/// The elements that the steps keep. Throws their errors, with the element's number.
std::vector<Element> through_steps(FeedActorState& f, std::vector<Element> elements) {
  if (f.steps.empty()) return elements;
  std::vector<Element> kept;
  for (auto& element : elements) {
    ++f.pushed;
    const auto place = [&] { return text(f.feed->title(), ", element ", f.pushed); };
    if (apply_steps(f.steps, element, place)) kept.push_back(std::move(element));
  }
  return kept;
}

void advance(Self self) {
  auto& f = self->state;
  if (!f.running || f.enqueuing) return;
  auto taken = f.feed->take(kBlock);
  const auto count = taken.elements.size();
  if (count == 0) {
    if (taken.end) return finish(self, *taken.end);
    return f.clock.enter(StageActivity::waiting_for_input);
  }
  f.clock.enter(StageActivity::busy);
  ElementBlock block{f.sequence++, {}, f.reader};
  try {
    block.elements = through_steps(f, std::move(taken.elements));
  } catch (...) {
    return fail_with(self, current_failure());
  }
  f.enqueuing = true;
  f.clock.enter(StageActivity::waiting_for_output);
  const auto kept = block.elements.size();
  self->request(f.queue, caf::infinite, enqueue_atom_v, std::move(block), EnqueueOptions{})
      .then(
          [self, count, kept, bytes = taken.bytes](caf::ok_atom) {
            auto& f = self->state;
            f.enqueuing = false;
            f.records += kept;
            f.clock.passed_on(kept, bytes);
            f.feed->passed_on(count, bytes);
            advance(self);
          },
          [self](const caf::error& why) { fail_with(self, why); });
}

}  // namespace

FeedActorState::~FeedActorState() {
  if (started.pending()) started.deliver(fault(Code::cancelled, "the feed has been stopped"));
  if (feed) feed->end(Error(Code::cancelled, "the pipeline has been stopped"));
}

Decoder::behavior_type feed_actor(Self self, std::shared_ptr<FeedState> feed, Queue queue,
                                  std::vector<ElementStep> steps, std::uint32_t reader) {
  self->state.reader = reader;
  self->state.feed = std::move(feed);
  self->state.queue = std::move(queue);
  self->state.steps = std::move(steps);
  on_tick(self, [self] { advance(self); });
  return {
      [self](start_atom) -> caf::result<std::uint64_t> {
        auto& f = self->state;
        if (std::exchange(f.begun, true))
          return fault(Code::failed_precondition, "the feed has been started already, or stopped");
        try {
          f.feed->bind(caf::actor_cast<caf::actor>(self));
        } catch (const Error& error) {
          f.feed.reset();  // it is not ours
          caf::anon_send(f.queue, caf::close_atom_v,
                         CloseRequest{true, {error.code(), error.what()}});
          return fault(error);
        }
        f.running = true;
        f.started = self->make_response_promise<std::uint64_t>();
        self->request(f.queue, caf::infinite, attach_atom_v)
            .then([self](caf::ok_atom) { advance(self); },
                  [self](const caf::error& why) { fail_with(self, why); });
        return f.started;
      },
      [self](stop_atom) {
        auto& f = self->state;
        const CloseReason reason{Code::cancelled, "the feed has been stopped"};
        if (std::exchange(f.begun, true)) {
          finish(self, reason);
        } else {
          // A queue that expects us must not wait for one that will not come.
          f.feed->end(Error(reason.code, reason.message));
          self->request(f.queue, caf::infinite, detach_atom_v, reason)
              .then([](caf::ok_atom) {}, [](const caf::error&) {});
        }
        return caf::ok_atom_v;
      },
      [self](status_atom) { return self->state.clock.read(); },
  };
}

}  // namespace troupe
