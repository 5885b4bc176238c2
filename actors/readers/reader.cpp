#include "troupe/actors/readers/reader.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/messages/answer.h"
#include "troupe/messages/tick.h"

namespace troupe {
namespace {

using Self = Reader::stateful_pointer<ReaderState>;

/// The next block, or the end.
void read_one(ReaderState& r, const BlockLimits& limits) {
  try {
    RecordBlock block;
    if (r.source->read(block.streams, limits)) {
      block.sequence = r.sequence++;
      r.ready.push_back(std::move(block));
    } else {
      r.end = fault(Code::out_of_range, "end of data: ", r.source->describe());
    }
  } catch (...) {
    r.end = current_fault();
  }
  if (r.end) r.source.reset();  // closes its files
}

void answer_waiting(ReaderState& r) {
  while (!r.waiting.empty() && (!r.ready.empty() || r.end)) {
    auto promise = std::move(r.waiting.front());
    r.waiting.pop_front();
    if (r.ready.empty()) {
      promise.deliver(r.end);
    } else {
      promise.deliver(std::move(r.ready.front()));
      r.ready.pop_front();
    }
  }
}

/// Reads one block at a time, so that requests are answered in between.
void read_ahead(Self self, const ReaderOptions& options) {
  auto& r = self->state;
  if (r.reading || r.end || r.ready.size() >= options.read_ahead + r.waiting.size()) return;
  r.reading = true;
  tick(self);
}

}  // namespace

ReaderState::~ReaderState() {
  for (auto& promise : waiting)
    promise.deliver(fault(Code::cancelled, "the reader has been stopped"));
}

Reader::behavior_type record_reader(Self self, std::shared_ptr<RecordSource> source,
                                    ReaderOptions options) {
  self->state.source = std::move(source);
  on_tick(self, [self, options] {
    auto& r = self->state;
    r.reading = false;
    if (r.end) return;
    read_one(r, options.limits);
    answer_waiting(r);
    read_ahead(self, options);
  });
  read_ahead(self, options);
  return {
      [self, options](next_atom) -> caf::result<RecordBlock> {
        auto& r = self->state;
        auto promise = self->make_response_promise<RecordBlock>();
        r.waiting.push_back(promise);
        answer_waiting(r);
        read_ahead(self, options);
        return promise;
      },
      [self](stop_atom) {
        auto& r = self->state;
        r.end = fault(Code::cancelled, "the reader has been stopped");
        r.source.reset();
        r.ready.clear();
        answer_waiting(r);
        return caf::ok_atom_v;
      },
  };
}

}  // namespace troupe
