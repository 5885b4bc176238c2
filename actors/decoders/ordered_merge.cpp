#include "troupe/actors/decoders/ordered_merge.h"

#include <algorithm>
#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/system_messages.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using Self = OrderedMerge::stateful_pointer<OrderedMergeState>;
using Lane = OrderedMergeState::Lane;

Lane& lane_of(OrderedMergeState& m, const caf::actor_addr& producer) {
  const auto found = m.lane_of.find(producer);
  return m.lanes[found == m.lane_of.end() ? 0 : found->second];
}

/// Takes no more blocks, gives back those that wait, and tells the queue.
void end(Self self, const CloseReason& reason) {
  auto& m = self->state;
  if (m.end) return;
  m.end = fault(Code::cancelled, "the ordered merge is closed: ", reason.message);
  for (auto& lane : m.lanes)
    for (auto& [sequence, held] : std::exchange(lane.held, {})) held.promise.deliver(m.end);
  const auto ignore = [](const caf::error&) {};
  if (m.joined)
    self->request(m.queue, caf::infinite, detach_atom_v, reason).then([](caf::ok_atom) {}, ignore);
  else
    self->request(m.queue, caf::infinite, caf::close_atom_v, CloseRequest{reason.failed(), reason})
        .then([](caf::ok_atom) {}, ignore);
}

/// Passes on all blocks whose turn it is. The queue keeps their order, and its answer
/// goes to the decoder by itself.
void pass_on(Self self) {
  auto& m = self->state;
  const auto over = [](const Lane& lane) { return lane.ended() && lane.held.empty(); };
  while (!m.end && !std::ranges::all_of(m.lanes, over)) {
    while (over(m.lanes[m.turn])) m.turn = (m.turn + 1) % m.lanes.size();
    auto& lane = m.lanes[m.turn];
    const auto first = lane.held.begin();
    if (first == lane.held.end() || first->first != lane.next) return;
    auto held = std::move(first->second);
    lane.held.erase(first);
    ++lane.next;
    m.turn = (m.turn + 1) % m.lanes.size();
    held.promise.delegate(m.queue, enqueue_atom_v, std::move(held.block), held.options);
  }
}

void leave(Self self, const CloseReason& reason) {
  const auto& m = self->state;
  if (reason.failed() || std::ranges::all_of(m.lanes, &Lane::ended))
    end(self, reason);
  else
    pass_on(self);  // it may be another lane's turn
}

}  // namespace

OrderedMergeState::~OrderedMergeState() {
  for (auto& lane : lanes)
    for (auto& [sequence, waiting] : lane.held)
      waiting.promise.deliver(fault(Code::cancelled, "the ordered merge has been stopped"));
}

OrderedMerge::behavior_type ordered_merge(Self self, Queue queue,
                                          std::vector<std::int64_t> decoders, std::size_t turn) {
  self->state.queue = std::move(queue);
  for (const auto expected : decoders) self->state.lanes.emplace_back().expected = expected;
  if (!self->state.lanes.empty()) self->state.turn = turn % self->state.lanes.size();
  self->set_down_handler([self](const caf::down_msg& down) {
    auto& m = self->state;
    const auto missing = m.expected.extract(down.source);
    lane_of(m, down.source).awaited.erase(down.source);
    if (lane_of(m, down.source).producers.erase(down.source) == 0 && missing.empty()) return;
    const auto error = down.reason ? to_error(down.reason) : Error(Code::unavailable, "it quit");
    leave(self, {error.code(),
                 missing.empty()
                     ? text("a decoder ended without a word: ", error.what())
                     : text("'", missing.mapped(), "' ended before it attached: ", error.what())});
  });
  return {
      [self](enqueue_atom, ElementBlock& block,
             const EnqueueOptions& options) -> caf::result<caf::ok_atom> {
        auto& m = self->state;
        if (m.end) return m.end;
        auto& lane = lane_of(m, caf::actor_cast<caf::actor_addr>(self->current_sender()));
        const auto sequence = block.sequence;
        if (sequence < lane.next || lane.held.count(sequence) > 0)
          return fault(Code::invalid_argument, "block ", sequence, " came twice");
        auto promise = self->make_response_promise<caf::ok_atom>();
        lane.held.emplace(sequence, OrderedMergeState::Held{std::move(block), options, promise});
        pass_on(self);
        return promise;
      },
      [self](dequeue_atom, const DequeueRequest& request) {
        return self->delegate(self->state.queue, dequeue_atom_v, request);
      },
      [self](expect_atom, const std::string& name, const caf::actor& producer) {
        if (!producer)
          return leave(self, {Code::failed_precondition, text("'", name, "' was never spawned")});
        self->state.expected[caf::actor_cast<caf::actor_addr>(producer)] = name;
        self->monitor(producer);
      },
      [self](attach_atom) -> caf::result<caf::ok_atom> {
        auto& m = self->state;
        if (m.end) return m.end;
        const auto producer = self->current_sender();  // a promise takes the sender away
        if (!producer)
          return fault(Code::invalid_argument, "a decoder without an address attached");
        const auto address = caf::actor_cast<caf::actor_addr>(producer);
        auto& lane = lane_of(m, address);
        if (!lane.producers.insert(address).second) return caf::ok_atom_v;
        lane.awaited.erase(address);
        ++lane.attached;
        if (m.expected.erase(address) == 0) self->monitor(caf::actor_cast<caf::actor>(producer));
        if (std::exchange(m.joined, true)) return caf::ok_atom_v;
        auto promise = self->make_response_promise<caf::ok_atom>();
        self->request(m.queue, caf::infinite, attach_atom_v)
            .then([promise](caf::ok_atom) mutable { promise.deliver(caf::ok_atom_v); },
                  [promise](const caf::error& why) mutable { promise.deliver(why); });
        return promise;
      },
      [self](detach_atom, const CloseReason& reason) -> caf::result<caf::ok_atom> {
        auto& m = self->state;
        const auto producer = caf::actor_cast<caf::actor_addr>(self->current_sender());
        auto& lane = lane_of(m, producer);
        if (lane.producers.erase(producer) == 0) {
          if (m.expected.erase(producer) == 0)
            return fault(Code::failed_precondition, "an actor that is not attached detached");
          lane.awaited.erase(producer);
          ++lane.attached;
        }
        leave(self, reason);
        return caf::ok_atom_v;
      },
      [self](caf::close_atom, const CloseRequest& request) {
        return self->delegate(self->state.queue, caf::close_atom_v, request);
      },
      [self](status_atom) { return self->delegate(self->state.queue, status_atom_v); },
      [self](join_atom, const caf::actor& producer, std::uint32_t lane) {
        auto& m = self->state;
        if (lane >= m.lanes.size()) return;
        const auto address = caf::actor_cast<caf::actor_addr>(producer);
        m.lane_of[address] = lane;
        if (m.expected.count(address) > 0) m.lanes[lane].awaited.insert(address);
      },
  };
}

}  // namespace troupe
