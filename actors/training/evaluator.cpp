#include "troupe/actors/training/evaluator.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <memory>

#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using Self = ObservedEvaluator::stateful_pointer<EvaluatorState>;
using OptionsPtr = std::shared_ptr<const EvaluatorOptions>;

void advance(Self self, const OptionsPtr& options);

void give_up(Self self, const caf::error& error) {
  auto& s = self->state;
  s.failure = fault(to_error(error).within("evaluator"));
  for (auto& promise : s.waiting) promise.deliver(s.failure);
  s.waiting.clear();
  s.busy = false;
}

void read(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.reading = true;
  DequeueRequest request;
  request.count = options->batch;
  request.up_to = true;
  self->request(options->examples, caf::infinite, dequeue_atom_v, request)
      .then(
          [self, options](Batch& batch) {
            auto& s = self->state;
            for (const auto& component : batch.components) s.bytes += component.byte_size();
            if (s.bytes > options->memory_limit)
              return give_up(
                  self, fault(Code::resource_exhausted, "the evaluation set takes more than ",
                              options->memory_limit, " bytes (EvaluatorOptions::memory_limit)"));
            s.batches.push_back(std::move(batch));
            read(self, options);
          },
          [self, options](caf::error& error) {
            auto& s = self->state;
            if (code_of(error) != Code::out_of_range) return give_up(self, error);
            if (s.batches.empty())
              return give_up(self,
                             fault(Code::invalid_argument, "the evaluation set has no examples"));
            s.complete = true;
            advance(self, options);
          });
}

void load(Self self, const OptionsPtr& options) {
  self->request(options->device, caf::infinite, load_atom_v, options->fragment.spec)
      .then(
          [self, options](FragmentId id) {
            self->state.fragment = id;
            self->state.loaded = true;
            advance(self, options);
          },
          [self](caf::error& error) { give_up(self, error); });
}

void finish(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.result.examples = s.values->rows();
  s.result.values = s.values->values();
  auto promise = std::move(s.waiting.front());
  s.waiting.pop_front();
  s.parameters.assign(s.parameters.size(), Tensor());
  s.busy = false;
  promise.deliver(s.result);
  advance(self, options);
}

void run_next(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.position == s.batches.size()) return finish(self, options);
  const auto& batch = s.batches[s.position++];
  TensorList feeds;
  try {
    feeds = feeds_for(options->fragment, batch.components, s.parameters);
  } catch (const Error& error) {
    return give_up(self, fault(error));
  }
  const auto rows = batch.rows();
  self->request(options->device, caf::infinite, run_atom_v, s.fragment, std::uint64_t{0},
                std::move(feeds))
      .then(
          [self, options, rows](const RunResult& result) {
            auto& s = self->state;
            s.values->add(result.fetches, rows);
            s.status.records += static_cast<std::uint64_t>(rows);
            s.status.busy += result.busy;
            run_next(self, options);
          },
          [self](caf::error& error) { give_up(self, error); });
}

void keep(EvaluatorState& s, const EvaluatorOptions& options, const std::string& variable,
          const Tensor& values) {
  const auto& wanted = options.fragment.variables;
  const auto found = std::find(wanted.begin(), wanted.end(), variable);
  if (found != wanted.end()) s.parameters[found - wanted.begin()] = values;
}

/// One shard has answered, with its values at that version.
void pulled(Self self, const OptionsPtr& options, Version version) {
  auto& s = self->state;
  s.result.version = std::min(s.result.version, version);
  if (--s.missing == 0) run_next(self, options);
}

void pull_values(Self self, const OptionsPtr& options, const Shard& shard) {
  self->request(shard, caf::infinite, pull_atom_v, kNoVersion)
      .then(
          [self, options](const Parameters& parameters) {
            for (std::size_t i = 0; i < parameters.names.size(); ++i)
              keep(self->state, *options, parameters.names[i], parameters.values[i]);
            pulled(self, options, parameters.version);
          },
          [self](caf::error& error) { give_up(self, error); });
}

/// The moving average of a variable follows its value, where there is one.
void pull_averages(Self self, const OptionsPtr& options, const Shard& shard) {
  self->request(shard, caf::infinite, snapshot_atom_v)
      .then(
          [self, options](const ShardSnapshot& snapshot) {
            for (const auto& saved : snapshot.tensors)
              if (saved.slot.empty() || saved.slot == "average")
                keep(self->state, *options, saved.variable, saved.values);
            pulled(self, options, snapshot.version);
          },
          [self](caf::error& error) { give_up(self, error); });
}

void pull(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.busy = true;
  s.missing = options->shards.size();
  s.position = 0;
  s.result = {};
  s.result.version = kNoVersion;
  s.values.emplace(options->fragment.combines);
  const auto ask = options->averages ? pull_averages : pull_values;
  for (const auto& shard : options->shards) ask(self, options, shard);
}

void advance(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.complete && s.loaded && !s.busy && !s.waiting.empty()) pull(self, options);
}

}  // namespace

ObservedEvaluator::behavior_type evaluator(Self self, EvaluatorOptions given) {
  const auto options = std::make_shared<const EvaluatorOptions>(std::move(given));
  self->state.parameters.resize(options->fragment.variables.size());
  return {
      [self, options](run_atom) -> caf::result<EvaluationResult> {
        auto& s = self->state;
        if (s.failure) return s.failure;
        auto promise = self->make_response_promise<EvaluationResult>();
        s.waiting.push_back(promise);
        if (!s.reading) {
          load(self, options);
          read(self, options);
        }
        advance(self, options);
        return promise;
      },
      [self](status_atom) { return self->state.status; },
  };
}

}  // namespace troupe
