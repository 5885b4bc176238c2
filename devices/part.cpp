#include "troupe/devices/part.h"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include "troupe/messages/answer.h"

namespace troupe {

PartState::~PartState() {
  for (auto& [number, step] : steps_)
    if (step.promise.pending())
      step.promise.deliver(
          fault(Code::unavailable, device_name_, ": its part of the graph was unloaded"));
  for (const auto id : loaded_)
    if (id != 0) caf::anon_send(device_, unload_atom_v, id);
}

void PartState::start(PartOptions options) {
  spec_ = std::move(options.spec);
  device_ = std::move(options.device);
  device_name_ = std::move(options.name);
  loaded_.resize(spec_.fragments.size());
  readers_.resize(spec_.slots.size());
  for (const auto& fragment : spec_.fragments) {
    for (const auto slot : fragment.feeds) ++readers_[slot];
    open_per_step_ += 1 + fragment.outputs.size();
  }
}

caf::result<caf::ok_atom> PartState::load(std::vector<EdgeSink> parts) {
  parts_ = std::move(parts);
  if (spec_.fragments.empty()) return caf::ok_atom_v;
  auto promise = self_->make_response_promise<caf::ok_atom>();
  const auto missing = std::make_shared<std::size_t>(spec_.fragments.size());
  for (std::size_t i = 0; i < spec_.fragments.size(); ++i)
    self_->request(device_, caf::infinite, load_atom_v, spec_.fragments[i].spec)
        .then(
            [this, i, promise, missing](FragmentId id) mutable {
              loaded_[i] = id;
              if (--*missing == 0) promise.deliver(caf::ok_atom_v);
            },
            [promise](caf::error& error) mutable {
              if (promise.pending()) promise.deliver(std::move(error));
            });
  return promise;
}

caf::result<RunResult> PartState::run(std::uint64_t number, std::uint64_t seed,
                                      const TensorList& feeds, OutputSink sink, std::uint64_t tag) {
  last_step_ = number;
  auto& step = steps_[number];
  step.seed = seed;
  step.sink = std::move(sink);
  step.tag = tag;
  step.result.fetches.resize(spec_.fetches);
  step.open = open_per_step_ + 1;  // one for this call: what fill() begins may end at once
  for (const auto& fragment : spec_.fragments) step.awaits.push_back(fragment.awaits);
  auto promise = step.promise = self_->make_response_promise<RunResult>();

  for (std::size_t i = 0; i < feeds.size(); ++i) fill(step, number, spec_.feeds[i], feeds[i]);
  for (std::size_t i = 0; i < spec_.fragments.size(); ++i)
    if (spec_.fragments[i].awaits == 0) begin(step, number, i);
  if (const auto early = early_.extract(number))
    for (const auto& [slot, value] : early.mapped()) fill(step, number, slot, value);
  one_less(number);
  return promise;
}

PartState::Step* PartState::find(std::uint64_t number) {
  const auto found = steps_.find(number);
  return found == steps_.end() ? nullptr : &found->second;
}

void PartState::arrive(std::uint64_t number, std::uint32_t slot, const Tensor& value) {
  if (auto* step = find(number))
    fill(*step, number, slot, value);
  else if (number > last_step_)
    early_[number].emplace_back(slot, value);
}

void PartState::fill(Step& step, std::uint64_t number, std::uint32_t slot, const Tensor& value) {
  const auto& to = spec_.slots[slot];
  for (const auto& edge : to.edges)
    self_->send(parts_[edge.part], edge_atom_v, number, edge.slot, value);
  for (const auto index : to.streamed)
    if (step.sink) self_->send(step.sink, output_atom_v, step.tag, index, value);
  for (const auto position : to.fetched) step.result.fetches[position] = value;
  if (readers_[slot] > 0) step.values[slot] = value;
  for (const auto fragment : to.awaited_by)
    if (--step.awaits[fragment] == 0) begin(step, number, fragment);
}

void PartState::begin(Step& step, std::uint64_t number, std::size_t index) {
  const auto& fragment = spec_.fragments[index];
  TensorList feeds;
  feeds.reserve(fragment.feeds.size());
  for (const auto slot : fragment.feeds) feeds.push_back(step.values.at(slot));
  for (const auto slot : fragment.feeds) {
    const auto begun = [&](std::size_t reader) { return step.awaits[reader] <= 0; };
    if (std::ranges::all_of(spec_.slots[slot].awaited_by, begun)) step.values.erase(slot);
  }
  const auto call = number * spec_.fragments.size() + index;
  self_
      ->request(device_, caf::infinite, run_atom_v, loaded_[index], step.seed, std::move(feeds),
                caf::actor_cast<OutputSink>(self_), call)
      .then(
          [this, number](const RunResult& result) {
            if (auto* open = find(number)) open->result.busy += result.busy;
            one_less(number);
          },
          [this, number](const caf::error& error) { fail(number, error); });
}

void PartState::output(std::uint64_t call, std::uint32_t index, const Tensor& value) {
  const auto number = call / spec_.fragments.size();
  auto* step = find(number);
  if (step == nullptr) return;
  fill(*step, number, spec_.fragments[call % spec_.fragments.size()].outputs[index], value);
  one_less(number);
}

/// Something that was to come has come.
void PartState::one_less(std::uint64_t number) {
  auto* step = find(number);
  if (step == nullptr || --step->open > 0) return;
  auto ended = steps_.extract(number);
  ended.mapped().promise.deliver(std::move(ended.mapped().result));
}

void PartState::fail(std::uint64_t number, const caf::error& why) {
  auto ended = steps_.extract(number);
  if (ended.empty()) return;
  auto error = to_error(why);
  if (error.code() == Code::unavailable)
    error = Error(Code::unavailable, text(device_name_, ": the device is gone: ", error.what()));
  ended.mapped().promise.deliver(fault(error));
}

void PartState::cancel(std::uint64_t number) {
  fail(number, fault(Code::cancelled, device_name_, ": the step was given up"));
}

PartStatus PartState::status() const {
  PartStatus status{.steps = steps_.size()};
  for (const auto& [number, step] : steps_) status.values += step.values.size();
  for (const auto& [number, values] : early_) status.values += values.size();
  return status;
}

Part::behavior_type part(Part::stateful_pointer<PartState> self, PartOptions options) {
  self->state.start(std::move(options));
  return {
      [self](edge_atom, std::uint64_t step, std::uint32_t edge, const Tensor& value) {
        self->state.arrive(step, edge, value);
      },
      [self](load_atom, std::vector<EdgeSink>& parts) {
        return self->state.load(std::move(parts));
      },
      [self](run_atom, std::uint64_t step, std::uint64_t seed, const TensorList& feeds,
             OutputSink& sink, std::uint64_t tag) {
        return self->state.run(step, seed, feeds, std::move(sink), tag);
      },
      [self](cancel_atom, std::uint64_t step) { self->state.cancel(step); },
      [self](output_atom, std::uint64_t call, std::uint32_t index, const Tensor& value) {
        self->state.output(call, index, value);
      },
      [self](status_atom) { return self->state.status(); },
  };
}

}  // namespace troupe
