#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <string>
#include <vector>

#include "troupe/actors/training/fragments.h"
#include "troupe/messages/ensemble.h"

namespace troupe {

class Checkpoint;

struct ModelMemberOptions {
  std::string name = "member";  ///< for messages
  ModelFragment fragment;       ///< prediction_fragment(): its inputs are those of the queries
  Device device;
  Parameters weights;  ///< may hold more than the model needs
};

struct ModelMemberState {
  static constexpr const char* name = "troupe.model_member";

  struct Waiting {
    caf::typed_response_promise<TensorList> promise;
    TensorList inputs;
  };

  FragmentId fragment = 0;
  bool loaded = false;
  caf::error failure;  ///< of loading
  TensorList weights;  ///< as the fragment wants them
  std::deque<Waiting> waiting;
};

/// Answers queries with the predictions of a model on a device. A query is computed
/// with the weights of the moment in which it came, whatever is assigned meanwhile.
Member::behavior_type model_member(Member::stateful_pointer<ModelMemberState> self,
                                   ModelMemberOptions options);

/// The values of the variables that `fragment` feeds, in its order. Throws not_found,
/// naming `who` and the variable, when one is missing, invalid_argument when its dtype
/// or shape is another than the graph's.
TensorList weights_for(const ModelFragment& fragment, const Parameters& weights,
                       const std::string& who);

/// The weights that a checkpoint holds for use: of variables that have a moving
/// average, that. The version is the checkpoint's step.
Parameters trained_weights(const Checkpoint& checkpoint);

}  // namespace troupe
