#include "troupe/actors/training/publisher.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/actors/parameters/row_pieces.h"
#include "troupe/messages/answer.h"

namespace troupe {
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
  parts_.clear();
  for (std::size_t shard = 0; shard < options_.shards.size(); ++shard) pull(shard);
}

void PublisherState::pull(std::size_t shard) {
  RowPull request;
  request.with_values = true;
  request.averages = options_.averages;
  self_->request(options_.shards[shard], caf::infinite, pull_atom_v, std::move(request))
      .then([this, shard](PulledRows& pulled) { take(shard, std::move(pulled.parameters)); },
            [this, shard](const caf::error& why) { ask_keeper(shard, why); });
}

/// A shard that died is asked again where its copy is.
void PublisherState::ask_keeper(std::size_t shard, const caf::error& why) {
  if (!options_.keeper || code_of(why) != Code::unavailable) return give_up(to_error(why));
  self_
      ->request(options_.keeper, caf::infinite, redirect_atom_v, static_cast<std::uint32_t>(shard),
                options_.shards[shard].address())
      .then(
          [this, shard](const Shard& handle) {
            options_.shards[shard] = handle;
            pull(shard);
          },
          [this](const caf::error& error) { give_up(to_error(error)); });
}

Parameters PublisherState::put_together() {
  Parameters weights;
  weights.version = kNoVersion;
  std::vector<std::vector<RowPiece>> pieces;
  for (auto& [shard, part] : parts_) {
    if (options_.leading == 0 || shard < options_.leading)
      weights.version = std::min(weights.version, part.version);
    for (std::size_t i = 0; i < part.names.size(); ++i) {
      const auto known = std::find(weights.names.begin(), weights.names.end(), part.names[i]);
      const auto at = static_cast<std::size_t>(known - weights.names.begin());
      if (known == weights.names.end()) {
        weights.names.push_back(part.names[i]);
        pieces.emplace_back();
      }
      pieces[at].push_back(
          {part.ranges.empty() ? 0 : part.ranges[i].first, std::move(part.values[i])});
    }
  }
  for (auto& of_variable : pieces) weights.values.push_back(joined(std::move(of_variable)));
  return weights;
}

void PublisherState::take(std::size_t shard, Parameters part) {
  parts_[shard] = std::move(part);
  if (--missing_ > 0) return;
  if (!failure_) {
    try {
      const auto weights = put_together();
      options_.publish.to(weights);
      published_ = weights.version;
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
  parts_.clear();
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
