#pragma once

#include "troupe/messages/ensemble.h"

namespace troupe {

/// What goes from one stage of a cut model to its neighbour: the activations of a
/// micro-batch on the way forward, the loss's gradient by them on the way back.
struct StageTensor {
  std::uint64_t step = 0;
  std::uint32_t micro_batch = 0;
  Tensor values;
};

/// A step to be made: all micro-batches through all stages, one update.
struct StageStep {
  std::uint64_t step = 0;          ///< from 1
  std::vector<std::int64_t> rows;  ///< of each micro-batch
  std::uint64_t seed = 0;          ///< of dropout and the like
};

/// What one stage says when it has updated its variables.
struct StageReport {
  std::uint32_t stage = 0;
  std::uint64_t step = 0;
  double loss = 0;  ///< the last stage: the mean over all rows; all: with their own regularizers
  double learning_rate = 0;
  std::uint32_t most_activations = 0;  ///< micro-batches that it held at one time
  std::chrono::nanoseconds busy{0};    ///< of this step, from its begin on
  std::chrono::nanoseconds elapsed{0};
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, StageTensor& x) {
  return f(caf::meta::type_name("StageTensor"), x.step, x.micro_batch, x.values);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, StageStep& x) {
  return f(caf::meta::type_name("StageStep"), x.step, x.rows, x.seed);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, StageReport& x) {
  return f(caf::meta::type_name("StageReport"), x.stage, x.step, x.loss, x.learning_rate,
           x.most_activations, x.busy, x.elapsed);
}

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_stages, caf::id_block::troupe_ensemble::end)

CAF_ADD_TYPE_ID(troupe_stages, (troupe::StageTensor))
CAF_ADD_TYPE_ID(troupe_stages, (troupe::StageStep))
CAF_ADD_TYPE_ID(troupe_stages, (troupe::StageReport))

CAF_ADD_ATOM(troupe_stages, troupe, forward_atom, "forward")
CAF_ADD_ATOM(troupe_stages, troupe, backward_atom, "backward")

CAF_END_TYPE_ID_BLOCK(troupe_stages)

namespace troupe {

/// Where the neighbours of a stage send what it needs.
///   (forward, tensor)    the activations of the stage before it; for the first stage, the input
///   (backward, tensor)   the gradient by its own activations; for the last stage, the labels
using StagePort = caf::typed_actor<caf::reacts_to<forward_atom, StageTensor>,
                                   caf::reacts_to<backward_atom, StageTensor>>;

/// Some layers of a model on a device, with their variables and their optimizer.
///   (join, stages)         -> ok        all stages in their order, this one among them
///   (run, step)            -> report    once all micro-batches have come back and the variables
///                                       are updated; the failure when there was one
///   (snapshot)             -> snapshot
///   (restore, snapshot)    -> ok        invalid_argument when it does not fit
///   (status)               -> status    waiting for input is for either neighbour
using Stage =
    StagePort::extend<caf::replies_to<join_atom, std::vector<StagePort>>::with<caf::ok_atom>,
                      caf::replies_to<run_atom, StageStep>::with<StageReport>,
                      caf::replies_to<snapshot_atom>::with<ShardSnapshot>,
                      caf::replies_to<restore_atom, ShardSnapshot>::with<caf::ok_atom>,
                      caf::replies_to<status_atom>::with<StageStatus>>;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_stage_handles, caf::id_block::troupe_stages::end)

CAF_ADD_TYPE_ID(troupe_stage_handles, (troupe::StagePort))
CAF_ADD_TYPE_ID(troupe_stage_handles, (std::vector<troupe::StagePort>))
CAF_ADD_TYPE_ID(troupe_stage_handles, (troupe::Stage))

CAF_END_TYPE_ID_BLOCK(troupe_stage_handles)
