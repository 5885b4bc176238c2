#pragma once

#include <memory>
#include <string>

#include "troupe/actors/ensemble/ensemble.h"
#include "troupe/actors/training/model.h"
#include "troupe/messages/system_config.h"

namespace troupe {

/// Different models that answer queries together, for plain code:
///
///   ModelEnsemble ensemble({.combiner = probability_combiner(), .quorum = 2, .deadline = 20ms});
///   ensemble.join("small", small_model, "run/small");
///   ensemble.join("large", large_model, "run/large", 2.0);
///   const auto answer = ensemble.run({images});
///
/// Members come, go and get new weights while others ask. From any thread but an
/// actor's.
class ModelEnsemble {
 public:
  /// With actors, threads and a CPU device of its own. Throws invalid_argument as validate().
  explicit ModelEnsemble(const EnsembleOptions& options, ThreadBudget threads = {});
  ~ModelEnsemble();
  ModelEnsemble(const ModelEnsemble&) = delete;
  ModelEnsemble& operator=(const ModelEnsemble&) = delete;

  /// Adds a model, which must name its predictions. Its inputs are those that they depend on.
  /// Throws already_exists for a name that is taken, and as weights_for().
  void join(const std::string& name, const ModelFunction& model, const Parameters& weights,
            double weight = 1);
  /// The same with the weights of a checkpoint. Throws also as Checkpoint::open().
  void join(const std::string& name, const ModelFunction& model, const std::string& checkpoint,
            double weight = 1);
  /// Throws not_found.
  void leave(const std::string& name);

  /// Other weights, for the queries that come after it. Throws not_found, and as weights_for().
  void assign(const std::string& name, const Parameters& weights);
  void assign(const std::string& name, const std::string& checkpoint);

  /// Asks all members, and says what the combiner made of their answers.
  EnsembleAnswer run(const TensorList& inputs);

  EnsembleStatus status();

  /// For actors that ask it themselves.
  Ensemble actor() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
