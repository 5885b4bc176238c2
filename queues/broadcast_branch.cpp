#include "troupe/queues/broadcast_branch.h"

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <iterator>
#include <memory>
#include <utility>

#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using Self = Branch::stateful_pointer<BranchState>;
using OptionsPtr = std::shared_ptr<const BranchOptions>;

caf::error only_for_taking(const BranchOptions& options) {
  return fault(Code::failed_precondition, "branch '", options.name,
               "' gets its batches from a broadcast: nothing can be put in");
}

void end(BranchState& s, const caf::error& reason) {
  if (s.end) return;
  s.end = reason;
  const auto error = to_error(reason);
  s.status.closed = true;
  s.status.reason = {error.code(), error.what()};
  for (auto& promise : std::exchange(s.waiting, {})) promise.deliver(reason);
}

void ask(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.asked || s.waiting.empty()) return;
  s.asked = true;
  self->request(options->broadcast, caf::infinite, next_atom_v)
      .then(
          [self, options](Batch& batch) {
            auto& s = self->state;
            s.asked = false;
            if (s.waiting.empty()) return s.late.push_back(std::move(batch));  // closed meanwhile
            const auto rows = static_cast<std::uint64_t>(batch.rows());
            s.status.enqueued += rows;
            s.status.dequeued += rows;
            auto promise = std::move(s.waiting.front());
            s.waiting.pop_front();
            promise.deliver(std::move(batch));
            ask(self, options);
          },
          [self](caf::error& error) {
            self->state.asked = false;
            end(self->state, error);
          });
}

/// With what the broadcast has given, and nobody has had.
PipelineSnapshot with_late(const BranchState& s, PipelineSnapshot snapshot) {
  const auto next = snapshot.next();
  std::vector<Batch> left;
  std::copy_if(s.late.begin(), s.late.end(), std::back_inserter(left),
               [&](const Batch& batch) { return batch.sequence < next; });
  snapshot.left.insert(snapshot.left.begin(), left.begin(), left.end());
  return snapshot;
}

/// Answers with `last`, once it is there.
void tell_last(BranchState& s) {
  if (!s.last && !s.no_last) return;
  for (auto& promise : std::exchange(s.want_last, {}))
    s.last ? promise.deliver(*s.last) : promise.deliver(s.no_last);
}

caf::result<PipelineSnapshot> snapshot(Self self, const OptionsPtr& options) {
  auto promise = self->make_response_promise<PipelineSnapshot>();
  if (self->state.closed) {
    self->state.want_last.push_back(promise);
    tell_last(self->state);
    return promise;
  }
  self->request(options->broadcast, caf::infinite, snapshot_atom_v)
      .then(
          [self, promise](PipelineSnapshot& made) mutable {
            promise.deliver(with_late(self->state, std::move(made)));
          },
          [promise](caf::error& why) mutable { promise.deliver(std::move(why)); });
  return promise;
}

void close(Self self, const OptionsPtr& options, const CloseRequest& request) {
  auto& s = self->state;
  end(s, fault(Error(request.reason.code, request.reason.message)));
  if (std::exchange(s.closed, true)) return;
  if (options->saves)
    self->request(options->broadcast, caf::infinite, snapshot_atom_v)
        .then(
            [self](PipelineSnapshot& made) {
              self->state.last = with_late(self->state, std::move(made));
              tell_last(self->state);
            },
            [self](caf::error& why) {
              self->state.no_last = std::move(why);
              tell_last(self->state);
            });
  else
    s.no_last = fault(Code::failed_precondition, "branch '", options->name,
                      "' was closed, and keeps nothing of its broadcast then");
  self->send(options->broadcast, leave_atom_v, caf::actor_cast<caf::actor>(self));
}

}  // namespace

BranchState::~BranchState() {
  const auto gone = fault(Code::unavailable, "branch '", status.name, "' has been ended");
  for (auto& promise : waiting) promise.deliver(gone);
  for (auto& promise : want_last) promise.deliver(gone);
}

Branch::behavior_type broadcast_branch(Self self, BranchOptions given) {
  const auto options = std::make_shared<const BranchOptions>(std::move(given));
  self->state.status.name = options->name;
  self->state.status.kind = "Branch";
  return {
      [options](enqueue_atom, const ElementBlock&, const EnqueueOptions&)
          -> caf::result<caf::ok_atom> { return only_for_taking(*options); },
      [self, options](dequeue_atom, const DequeueRequest& request) -> caf::result<Batch> {
        auto& s = self->state;
        if (request.count != options->batch || request.timeout != kForever)
          return fault(Code::invalid_argument, "branch '", options->name, "' gives whole batches, ",
                       options->batch, " rows without a time limit, but ", request.count,
                       " were asked for", request.timeout != kForever ? ", with a time limit" : "");
        if (s.end) return s.end;
        auto promise = self->make_response_promise<Batch>();
        s.waiting.push_back(promise);
        ask(self, options);
        return promise;
      },
      [](expect_atom, const std::string&, const caf::actor&) {},
      [options](attach_atom) -> caf::result<caf::ok_atom> { return only_for_taking(*options); },
      [options](detach_atom, const CloseReason&) -> caf::result<caf::ok_atom> {
        return only_for_taking(*options);
      },
      [self, options](caf::close_atom, const CloseRequest& request) {
        close(self, options, request);
        return caf::ok_atom_v;
      },
      [self](status_atom) {
        auto status = self->state.status;
        status.waiting_dequeues = std::ssize(self->state.waiting);
        return status;
      },
      [self, options](snapshot_atom) { return snapshot(self, options); },
  };
}

}  // namespace troupe
