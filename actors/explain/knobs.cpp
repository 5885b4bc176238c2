#include "troupe/actors/explain/knobs.h"

namespace troupe {
namespace {

struct Names {
  const char* flag;
  const char* option;
};

Names names_of(Knob knob) {
  switch (knob) {
    case Knob::none:
      break;
    case Knob::decoders:
      return {"--decoders", "DecodeOptions::decoders"};
    case Knob::capacity:
      return {"--capacity", "ShuffleOptions::capacity"};
    case Knob::capacity_bytes:
      return {"", "ShuffleOptions::capacity_bytes"};
    case Knob::min_after_dequeue:
      return {"--min-after-dequeue", "ShuffleOptions::min_after_dequeue"};
    case Knob::batch:
      return {"--batch", "Examples::batch"};
    case Knob::replicas:
      return {"--replicas", "TrainingOptions::replicas"};
    case Knob::shards:
      return {"--shards", "TrainingOptions::shards"};
    case Knob::asynchronous:
      return {"--async", "TrainingOptions::aggregation.policy = \"async\""};
    case Knob::inter_op:
      return {"--inter-op", "ThreadBudget::inter_op"};
    case Knob::intra_op:
      return {"--intra-op", "ThreadBudget::intra_op"};
    case Knob::evaluate_every:
      return {"--evaluate-every", "EvaluationOptions::every"};
    case Knob::checkpoint_every:
      return {"--checkpoint-every", "CheckpointOptions::every"};
  }
  return {"", ""};
}

}  // namespace

std::string knob_name(Knob knob, KnobStyle style) {
  const auto names = names_of(knob);
  return style == KnobStyle::flags ? names.flag : names.option;
}

}  // namespace troupe
