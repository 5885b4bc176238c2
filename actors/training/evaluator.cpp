#include "troupe/actors/training/evaluator.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <memory>

#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/actors/parameters/row_pieces.h"
#include "troupe/messages/answer.h"

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
  const auto failed = [self](const caf::error& error) { give_up(self, error); };
  const auto load_main = [self, options, failed] {
    self->request(options->device, caf::infinite, load_atom_v, options->fragment.spec)
        .then(
            [self, options](FragmentId id) {
              self->state.fragment = id;
              self->state.loaded = true;
              advance(self, options);
            },
            failed);
  };
  if (!options->fragment.ids.graph) return load_main();
  self->request(options->device, caf::infinite, load_atom_v, options->fragment.ids)
      .then(
          [self, load_main](FragmentId id) {
            self->state.ids_fragment = id;
            load_main();
          },
          failed);
}

// ---- which rows the set reads ----------------------------------------------------------------

void plan_batch(Self self, const OptionsPtr& options, const TensorList& fetched) {
  auto& s = self->state;
  const auto& batch = s.batches[s.reads.size()];
  s.reads.push_back(plan_reads(options->fragment,
                               ids_of_reads(options->fragment, batch.components, fetched),
                               text("batch ", batch.sequence)));
}

/// Plans one batch after the other; the set never changes, so once is enough.
void plan(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  const auto& fragment = options->fragment;
  try {
    while (!fragment.ids.graph && !fragment.reads.empty() && s.reads.size() < s.batches.size())
      plan_batch(self, options, {});
  } catch (...) {
    return give_up(self, current_fault());
  }
  if (fragment.reads.empty() || s.reads.size() == s.batches.size()) {
    s.wanted = all_wanted(s.reads);
    s.planned = true;
    s.busy = false;
    return advance(self, options);
  }
  TensorList feeds;
  for (const auto input : fragment.ids_inputs)
    feeds.push_back(s.batches[s.reads.size()].components.at(input));
  self->request(options->device, caf::infinite, run_atom_v, s.ids_fragment, std::uint64_t{0},
                std::move(feeds))
      .then(
          [self, options](const RunResult& result) {
            try {
              plan_batch(self, options, result.fetches);
            } catch (...) {
              return give_up(self, current_fault());
            }
            plan(self, options);
          },
          [self](caf::error& error) { give_up(self, error); });
}

// ---- runs ------------------------------------------------------------------------------------

void finish(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.result.examples = s.values->rows();
  s.result.values = s.values->values();
  auto promise = std::move(s.waiting.front());
  s.waiting.pop_front();
  if (options->keeps_variables) {
    s.evaluated.emplace();
    s.evaluated->version = s.result.version;
    for (std::size_t i = 0; i < s.parameters.size(); ++i)
      s.evaluated->tensors.push_back({options->fragment.variables[i], "", s.parameters[i]});
  }
  s.parameters.assign(s.parameters.size(), Tensor());
  s.rows.clear();
  s.busy = false;
  promise.deliver(s.result);
  advance(self, options);
}

void run_next(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.position == s.batches.size()) return finish(self, options);
  const auto& batch = s.batches[s.position];
  TensorList feeds;
  try {
    TensorList reads;
    if (!s.reads.empty()) {
      const auto& plan = s.reads[s.position];
      reads = read_rows(plan, rows_for(plan, s.wanted, s.rows));
    }
    ++s.position;
    feeds = feeds_for(options->fragment, batch.components, s.parameters, reads);
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

// ---- parameters ------------------------------------------------------------------------------

/// All shards have answered.
void take_pulled(EvaluatorState& s, const EvaluatorOptions& options) {
  const auto& variables = options.fragment.variables;
  std::map<std::size_t, std::vector<RowPiece>> pieces;
  std::vector<std::vector<RowPiece>> rows(s.wanted.size());
  for (auto& [shard, pulled] : s.pulled) {
    const auto& p = pulled.parameters;
    if (options.leading == 0 || shard < options.leading)
      s.result.version = std::min(s.result.version, p.version);
    for (std::size_t i = 0; i < p.names.size(); ++i) {
      const auto found = std::find(variables.begin(), variables.end(), p.names[i]);
      const auto first = p.ranges.empty() ? 0 : p.ranges[i].first;
      if (found != variables.end())
        pieces[static_cast<std::size_t>(found - variables.begin())].push_back({first, p.values[i]});
      for (std::size_t w = 0; w < s.wanted.size(); ++w)
        if (s.wanted[w].variable == p.names[i]) rows[w].push_back({first, pulled.rows.at(w)});
    }
  }
  s.rows.clear();
  for (auto& of_shards : rows) s.rows.push_back(joined(std::move(of_shards)));
  for (auto& [variable, of_shards] : pieces) s.parameters[variable] = joined(std::move(of_shards));
}

void pull_from(Self self, const OptionsPtr& options, std::size_t shard);

/// A shard that died is asked again where its copy is.
void pull_failed(Self self, const OptionsPtr& options, std::size_t shard, caf::error& error) {
  const bool lost =
      error.category() == caf::atom("system") || error.category() == caf::atom("exit");
  if (!lost || !options->keeper) return give_up(self, error);
  self->request(options->keeper, caf::infinite, redirect_atom_v, static_cast<std::uint32_t>(shard),
                self->state.shards[shard].address())
      .then(
          [self, options, shard](const Shard& handle) {
            self->state.shards[shard] = handle;
            pull_from(self, options, shard);
          },
          [self](caf::error& e) { give_up(self, e); });
}

void pull_from(Self self, const OptionsPtr& options, std::size_t shard) {
  auto& s = self->state;
  RowPull request;
  request.with_values = true;
  request.averages = options->averages;
  request.wanted = s.wanted;
  request.only_here = true;
  self->request(s.shards[shard], caf::infinite, pull_atom_v, std::move(request))
      .then(
          [self, options, shard](PulledRows& pulled) {
            auto& s = self->state;
            s.pulled[shard] = std::move(pulled);
            if (--s.missing > 0) return;
            take_pulled(s, *options);
            run_next(self, options);
          },
          [self, options, shard](caf::error& error) { pull_failed(self, options, shard, error); });
}

void pull(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.busy = true;
  s.missing = s.shards.size();
  s.pulled.clear();
  s.position = 0;
  s.result = {};
  s.result.version = kNoVersion;
  s.values.emplace(options->fragment.combines);
  for (std::size_t shard = 0; shard < s.shards.size(); ++shard) pull_from(self, options, shard);
}

void advance(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.complete || !s.loaded || s.busy || s.waiting.empty()) return;
  if (s.planned) return pull(self, options);
  s.busy = true;
  plan(self, options);
}

}  // namespace

ObservedEvaluator::behavior_type evaluator(Self self, EvaluatorOptions given) {
  const auto options = std::make_shared<const EvaluatorOptions>(std::move(given));
  self->state.parameters.resize(options->fragment.variables.size());
  self->state.shards = options->shards;
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
      [self](snapshot_atom) -> caf::result<ShardSnapshot> {
        if (!self->state.evaluated)
          return fault(Code::failed_precondition,
                       "evaluator: the variables of the last evaluation are not kept");
        return *self->state.evaluated;
      },
  };
}

}  // namespace troupe
