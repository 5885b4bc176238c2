#pragma once

#include <string>

namespace troupe {

/// What a user can turn to make a run faster.
enum class Knob {
  none,  ///< no option: other data, another disk, another machine
  decoders,
  capacity,
  capacity_bytes,
  min_after_dequeue,
  batch,
  replicas,
  shards,
  asynchronous,
  inter_op,
  intra_op,
  evaluate_every,
  checkpoint_every,
};

/// Whom advice is for.
enum class KnobStyle {
  flags,    ///< "--decoders"
  options,  ///< "DecodeOptions::decoders"
  fields,   ///< "--set data.decoding.decoders": of a topology file
};
/// "" for Knob::none and where there is no flag.
std::string knob_name(Knob knob, KnobStyle style);

}  // namespace troupe
