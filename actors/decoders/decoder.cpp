#include "troupe/actors/decoders/decoder.h"

#include <caf/system_messages.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = LeavingDecoder::stateful_pointer<DecoderState>;

void advance(Self self);

/// Nobody needs it any more.
void leave(Self self) {
  auto& d = self->state;
  if (!d.leaves) return;
  auto left = std::exchange(d.left, {});
  // Of one that was cut off, the queue may lack a block that the reader has to remember.
  if (code_of(d.end) == Code::out_of_range)
    left.deliver(caf::ok_atom_v);
  else
    left.deliver(d.end);
  self->quit();
}

/// Tells the queue that we are through, and whoever started us.
void finish(Self self) {
  auto& d = self->state;
  d.running = false;
  d.clock.enter(StageActivity::idle);
  const auto why = to_error(d.end);
  CloseReason reason{why.code(), why.what()};
  if (const auto report = d.decoder->report(); !reason.failed() && !report.empty())
    reason.message += "; " + report;
  const auto answer = [self, failed = reason.failed()] {
    auto& d = self->state;
    auto promise = std::exchange(d.started, {});  // which would keep us alive
    if (failed)
      promise.deliver(d.end);
    else
      promise.deliver(d.records);
    leave(self);
  };
  self->request(d.queue, caf::infinite, detach_atom_v, reason)
      .then([answer](caf::ok_atom) { answer(); }, [answer](const caf::error&) { answer(); });
}

/// No more blocks: what is in the queue's hands is still waited for.
void end(Self self, caf::error why) {
  auto& d = self->state;
  // The queue may refuse the last block when the reader has ended already.
  if (!d.end || code_of(d.end) == Code::out_of_range) d.end = std::move(why);
  d.ahead.reset();
  advance(self);
}

void ask(Self self) {
  auto& d = self->state;
  d.asking = true;
  self->request(d.reader, caf::infinite, next_atom_v)
      .then(
          [self](RecordBlock& block) {
            auto& d = self->state;
            d.asking = false;
            if (!d.end) d.ahead = std::move(block);
            advance(self);
          },
          [self](caf::error& why) {
            auto& d = self->state;
            d.asking = false;
            end(self, std::move(why));
          });
}

void enqueue(Self self, ElementBlock block) {
  auto& d = self->state;
  d.enqueuing = true;
  const auto count = block.elements.size();
  self->request(d.queue, caf::infinite, enqueue_atom_v, std::move(block), EnqueueOptions{})
      .then(
          [self, count](caf::ok_atom) {
            auto& d = self->state;
            d.enqueuing = false;
            d.records += count;
            d.clock.passed_on(count, d.bytes);
            advance(self);
          },
          [self](caf::error& why) {
            self->state.enqueuing = false;
            end(self, std::move(why));
          });
}

/// Does what can be done now.
void advance(Self self) {
  auto& d = self->state;
  if (!d.running) return;
  if (d.ahead && !d.enqueuing) {
    const auto block = std::move(*d.ahead);
    d.ahead.reset();
    if (!d.leaves) ask(self);
    d.clock.enter(StageActivity::busy);
    try {
      std::optional<Error> failure;
      auto decoded = d.decoder->decode(block, failure);
      d.bytes = block.record_bytes();
      // Where a block ends that is cut off nobody could say any more.
      if (failure) decoded.reader = kNoReader;
      enqueue(self, std::move(decoded));
      d.clock.enter(StageActivity::waiting_for_output);
      d.last_block = failure.has_value();
      if (failure) throw *failure;
    } catch (...) {
      end(self, current_failure());
    }
    return;
  }
  d.clock.enter(d.enqueuing ? StageActivity::waiting_for_output : StageActivity::waiting_for_input);
  if (d.leaves && !d.end && !d.ahead && !d.asking)
    d.end = fault(Code::out_of_range, "the decoder has left");
  if (d.end) {
    // The end of the data waits for what the queue is taking, as does a bad record for
    // those before it; other failures do not.
    const bool patient = code_of(d.end) == Code::out_of_range || d.last_block;
    if (!d.enqueuing || !patient) finish(self);
  } else if (!d.ahead && !d.asking) {
    ask(self);
  }
}

}  // namespace

DecoderState::~DecoderState() {
  if (started.pending()) started.deliver(fault(Code::cancelled, "the decoder has been stopped"));
}

LeavingDecoder::behavior_type decoder(Self self, Reader reader, Queue queue,
                                      std::shared_ptr<TupleDecoder> tuple) {
  self->state.reader = std::move(reader);
  self->state.queue = std::move(queue);
  self->state.decoder = std::move(tuple);
  // A reader that ends with our request in its hands does not answer it any more.
  self->monitor(self->state.reader);
  self->set_down_handler([self](const caf::down_msg& down) {
    auto& d = self->state;
    if (!d.asking) return;
    d.asking = false;
    const auto why = down.reason ? to_error(down.reason) : Error(Code::unavailable, "it quit");
    end(self, fault(Code::unavailable, "the reader ended without a word: ", why.what()));
  });
  return {
      [self](start_atom) -> caf::result<std::uint64_t> {
        auto& d = self->state;
        if (d.end) return d.end;
        if (d.running) return fault(Code::failed_precondition, "the decoder is running already");
        d.running = true;
        d.started = self->make_response_promise<std::uint64_t>();
        self->request(d.queue, caf::infinite, attach_atom_v)
            .then([self](caf::ok_atom) { advance(self); },
                  [self](caf::error& why) {
                    self->state.running = false;
                    self->state.end = why;
                    std::exchange(self->state.started, {}).deliver(std::move(why));
                    leave(self);
                  });
        return self->state.started;
      },
      [self](stop_atom) {
        auto& d = self->state;
        const CloseReason reason{Code::cancelled, "the decoder has been stopped"};
        // A queue that expects us must not wait for one that will not come.
        if (!d.running && !d.end)
          self->request(d.queue, caf::infinite, detach_atom_v, reason)
              .then([](caf::ok_atom) {}, [](const caf::error&) {});
        d.last_block = false;
        end(self, fault(reason.code, reason.message));
        return caf::ok_atom_v;
      },
      [self](status_atom) { return self->state.clock.read(); },
      [self](leave_atom) -> caf::result<caf::ok_atom> {
        auto& d = self->state;
        if (d.leaves) return fault(Code::failed_precondition, "the decoder is leaving already");
        d.leaves = true;
        auto promise = d.left = self->make_response_promise<caf::ok_atom>();
        // One that tells the queue that it is through leaves after that.
        if (!d.running && d.end && !d.started.pending())
          leave(self);
        else
          advance(self);
        return promise;
      },
  };
}

}  // namespace troupe
