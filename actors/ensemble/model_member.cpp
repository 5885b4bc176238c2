#include "troupe/actors/ensemble/model_member.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <map>
#include <memory>

#include "troupe/actors/checkpoint/trained_values.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = Member::stateful_pointer<ModelMemberState>;
using OptionsPtr = std::shared_ptr<const ModelMemberOptions>;

std::string title(const ModelMemberOptions& options) { return text("member '", options.name, "'"); }

void compute(Self self, const OptionsPtr& options, caf::typed_response_promise<TensorList> to,
             TensorList feeds) {
  self->request(options->device, caf::infinite, run_atom_v, self->state.fragment, std::uint64_t{0},
                std::move(feeds))
      .then([to](RunResult& result) mutable { to.deliver(std::move(result.fetches)); },
            [to, options](caf::error& error) mutable {
              to.deliver(fault(to_error(error).within(title(*options))));
            });
}

void load(Self self, const OptionsPtr& options) {
  self->request(options->device, caf::infinite, load_atom_v, options->fragment.spec)
      .then(
          [self, options](FragmentId id) {
            auto& s = self->state;
            s.fragment = id;
            s.loaded = true;
            for (auto& [promise, feeds] : std::exchange(s.waiting, {}))
              compute(self, options, promise, std::move(feeds));
          },
          [self, options](caf::error& error) {
            auto& s = self->state;
            s.failure = fault(to_error(error).within(title(*options)));
            for (auto& waiting : std::exchange(s.waiting, {})) waiting.promise.deliver(s.failure);
          });
}

}  // namespace

Member::behavior_type model_member(Self self, ModelMemberOptions given) {
  const auto options = std::make_shared<const ModelMemberOptions>(std::move(given));
  self->state.weights = weights_for(options->fragment, options->weights, title(*options));
  load(self, options);
  return {
      [self, options](run_atom, const TensorList& inputs) -> caf::result<TensorList> {
        auto& s = self->state;
        if (s.failure) return s.failure;
        try {
          auto feeds = feeds_for(options->fragment, inputs, s.weights);
          auto promise = self->make_response_promise<TensorList>();
          if (s.loaded)
            compute(self, options, promise, std::move(feeds));
          else
            s.waiting.push_back({promise, std::move(feeds)});
          return promise;
        } catch (const Error& error) {
          return fault(error.within(title(*options)));
        }
      },
      [self, options](assign_atom, const Parameters& weights) {
        return answer([&] {
          self->state.weights = weights_for(options->fragment, weights, title(*options));
          return caf::ok_atom_v;
        });
      },
  };
}

TensorList weights_for(const ModelFragment& fragment, const Parameters& weights,
                       const std::string& who) {
  std::map<std::string, TensorSpec> wanted;
  for (const auto& variable : fragment.spec.graph->variables())
    wanted.emplace(variable.name(), variable.spec());
  TensorList found;
  for (const auto& name : fragment.variables) {
    const auto at = std::find(weights.names.begin(), weights.names.end(), name);
    if (at == weights.names.end())
      fail(Code::not_found, who, ": there is no value for variable '", name, "' (", wanted.at(name),
           ")");
    const auto& value = weights.values.at(at - weights.names.begin());
    const auto& spec = wanted.at(name);
    if (value.dtype() != spec.dtype || !compatible(value.shape(), spec.shape))
      fail(Code::invalid_argument, who, ": variable '", name, "' is ", spec, ", but its value is ",
           TensorSpec{value.dtype(), value.shape()});
    found.push_back(value);
  }
  return found;
}

Parameters trained_weights(const Checkpoint& checkpoint) {
  Parameters all;
  all.version = static_cast<Version>(checkpoint.step());
  for (auto& [name, value] : trained_values(checkpoint)) {
    all.names.push_back(name);
    all.values.push_back(std::move(value));
  }
  return all;
}

}  // namespace troupe
