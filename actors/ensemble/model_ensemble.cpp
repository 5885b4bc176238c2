#include "troupe/actors/ensemble/model_ensemble.h"

#include <caf/scoped_actor.hpp>
#include <map>
#include <mutex>
#include <optional>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/ensemble/model_member.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/devices/cpu_device.h"

namespace troupe {

struct ModelEnsemble::State {
  explicit State(ThreadBudget threads) : troupe(threads) {}

  template <class T, class... Args>
  T ask(Args... args) {
    caf::scoped_actor self{troupe.system()};
    std::optional<T> answer;
    caf::error failure;
    self->request(ensemble, caf::infinite, std::move(args)...)
        .receive([&](T& value) { answer = std::move(value); },
                 [&](caf::error& error) { failure = error; });
    if (failure) throw to_error(failure);
    return std::move(*answer);
  }

  void dismiss(const Member& member) {
    const std::lock_guard guard(mutex);
    troupe.dismiss(caf::actor_cast<caf::actor>(member));
  }

  Troupe troupe;
  std::mutex mutex;  // a Troupe is for one thread at a time
  std::map<std::string, Member> members;
  Device device;
  Ensemble ensemble;
};

ModelEnsemble::ModelEnsemble(const EnsembleOptions& options, ThreadBudget threads) {
  validate(options);
  state_ = std::make_unique<State>(threads);
  const auto budget = threads.resolved();
  CpuDeviceOptions device;
  device.inter_op = budget.inter_op;
  device.intra_op = budget.intra_op;
  state_->device = state_->troupe.spawn("device CPU:0", cpu_device, device);
  state_->ensemble = state_->troupe.spawn(options.name, ensemble, options);
}

ModelEnsemble::~ModelEnsemble() = default;

void ModelEnsemble::join(const std::string& name, const ModelFunction& model,
                         const Parameters& weights, double weight) {
  ModelMemberOptions options;
  options.name = name;
  options.fragment = prediction_fragment(model(false));
  options.device = state_->device;
  options.weights = weights;
  (void)weights_for(options.fragment, weights, text("member '", name, "'"));  // throws here
  const auto member = [&] {
    const std::lock_guard guard(state_->mutex);
    return state_->troupe.spawn("member " + name, model_member, options);
  }();
  try {
    state_->ask<caf::ok_atom>(join_atom_v, name, member, weight);
  } catch (...) {
    state_->dismiss(member);
    throw;
  }
  const std::lock_guard guard(state_->mutex);
  state_->members[name] = member;
}

void ModelEnsemble::join(const std::string& name, const ModelFunction& model,
                         const std::string& checkpoint, double weight) {
  join(name, model, trained_weights(Checkpoint::open(checkpoint)), weight);
}

void ModelEnsemble::leave(const std::string& name) {
  const auto member = [&] {
    const std::lock_guard guard(state_->mutex);
    const auto found = state_->members.extract(name);
    return found ? found.mapped() : Member();
  }();
  state_->ask<caf::ok_atom>(leave_atom_v, name);
  if (member) state_->dismiss(member);
}

void ModelEnsemble::assign(const std::string& name, const Parameters& weights) {
  state_->ask<caf::ok_atom>(assign_atom_v, name, weights);
}

void ModelEnsemble::assign(const std::string& name, const std::string& checkpoint) {
  assign(name, trained_weights(Checkpoint::open(checkpoint)));
}

EnsembleAnswer ModelEnsemble::run(const TensorList& inputs) {
  return state_->ask<EnsembleAnswer>(run_atom_v, inputs);
}

EnsembleStatus ModelEnsemble::status() { return state_->ask<EnsembleStatus>(status_atom_v); }

Ensemble ModelEnsemble::actor() const { return state_->ensemble; }

}  // namespace troupe
