#include "troupe/actors/training/publisher.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

/// The variables of a shard, with moving averages instead of values where there are some.
Parameters averages_of(const ShardSnapshot& snapshot) {
  Parameters part;
  part.version = snapshot.version;
  for (const auto& saved : snapshot.tensors) {
    if (!saved.slot.empty() && saved.slot != "average") continue;
    const auto found = std::find(part.names.begin(), part.names.end(), saved.variable);
    if (found != part.names.end()) {
      auto& value = part.values[found - part.names.begin()];
      if (saved.slot == "average") value = saved.values;
    } else {
      part.names.push_back(saved.variable);
      part.values.push_back(saved.values);
    }
  }
  return part;
}

}  // namespace

PublisherState::~PublisherState() {
  for (auto& promise : waiting_)
    promise.deliver(fault(Code::unavailable, "the publisher has been ended"));
}

void PublisherState::take(const StepReport& report) {
  if (options_.summaries) self_->send(options_.summaries, report_atom_v, report);
  const auto before = std::exchange(step_, std::max(step_, report.step));
  const auto every = options_.publish.every;
  if (every == 0 || step_ / every == before / every) return;
  due_ = true;
  if (!busy_) publish();
}

void PublisherState::take(const EvaluationResult& result) {
  if (options_.summaries) self_->send(options_.summaries, report_atom_v, result);
}

caf::result<caf::ok_atom> PublisherState::save() {
  auto promise = self_->make_response_promise<caf::ok_atom>();
  waiting_.push_back(promise);
  due_ = due_ || published_ < step_;
  if (!busy_) due_ ? publish() : done();
  return promise;
}

caf::result<caf::ok_atom> PublisherState::stop() {
  if (options_.summaries) return self_->delegate(options_.summaries, stop_atom_v);
  return caf::ok_atom_v;
}

void PublisherState::publish() {
  due_ = false;
  busy_ = true;
  missing_ = options_.shards.size();
  failure_.reset();
  weights_ = {};
  weights_.version = kNoVersion;
  for (std::size_t shard = 0; shard < options_.shards.size(); ++shard) pull(shard);
}

void PublisherState::pull(std::size_t index) {
  const auto& shard = options_.shards[index];
  const bool leads = options_.leading == 0 || index < options_.leading;
  const auto failed = [this](caf::error& error) { give_up(to_error(error)); };
  if (options_.averages)
    self_->request(shard, caf::infinite, snapshot_atom_v)
        .then([this, leads](const ShardSnapshot& snapshot) { take(averages_of(snapshot), leads); },
              failed);
  else
    self_->request(shard, caf::infinite, pull_atom_v, kNoVersion)
        .then([this, leads](Parameters& part) { take(std::move(part), leads); }, failed);
}

void PublisherState::take(Parameters part, bool leads) {
  if (leads) weights_.version = std::min(weights_.version, part.version);
  std::move(part.names.begin(), part.names.end(), std::back_inserter(weights_.names));
  std::move(part.values.begin(), part.values.end(), std::back_inserter(weights_.values));
  if (--missing_ > 0) return;
  if (!failure_) {
    try {
      options_.publish.to(weights_);
      published_ = weights_.version;
    } catch (...) {
      failure_ = to_error(current_fault());
    }
  }
  done();
}

void PublisherState::give_up(const Error& error) {
  if (!failure_) failure_ = error;
  if (--missing_ == 0) done();
}

void PublisherState::done() {
  if (busy_ && failure_)
    self_->send(
        options_.listener, report_atom_v,
        TrainingEvent{step_, text("the weights could not be published: ", failure_->what())});
  busy_ = false;
  weights_ = {};
  if (due_) return publish();
  for (auto& promise : std::exchange(waiting_, {})) {
    if (failure_)
      promise.deliver(fault(*failure_));
    else
      promise.deliver(caf::ok_atom_v);
  }
}

Publisher::behavior_type publisher(Publisher::stateful_pointer<PublisherState> self,
                                   PublisherOptions options) {
  auto& s = self->state;
  s.start(std::move(options));
  return {
      [&s](report_atom, const StepReport& report) { s.take(report); },
      [&s](report_atom, const EvaluationResult& result) { s.take(result); },
      [&s](stop_atom) { return s.stop(); },
      [&s](save_atom) { return s.save(); },
  };
}

}  // namespace troupe
