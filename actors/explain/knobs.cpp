#include "troupe/actors/explain/knobs.h"

#include "troupe/ops/error.h"

namespace troupe {
namespace {

struct Names {
  const char* flag;
  const char* option;
  const char* field;
};

Names names_of(Knob knob) {
  switch (knob) {
    case Knob::none:
      break;
    case Knob::decoders:
      return {"--decoders", "DecodeOptions::decoders", "data.decoding.decoders"};
    case Knob::capacity:
      return {"--capacity", "ShuffleOptions::capacity", "data.shuffle.capacity"};
    case Knob::capacity_bytes:
      return {"", "ShuffleOptions::capacity_bytes", "data.shuffle.capacity_bytes"};
    case Knob::min_after_dequeue:
      return {"--min-after-dequeue", "ShuffleOptions::min_after_dequeue",
              "data.shuffle.min_after_dequeue"};
    case Knob::batch:
      return {"--batch", "Examples::batch", "data.batch.rows"};
    case Knob::replicas:
      return {"--replicas", "TrainingOptions::replicas", "replicas"};
    case Knob::shards:
      return {"--shards", "TrainingOptions::shards", "shards"};
    case Knob::asynchronous:
      return {"--async", "TrainingOptions::aggregation.policy = \"async\"",
              "aggregation.policy=async"};
    case Knob::inter_op:
      return {"--inter-op", "ThreadBudget::inter_op", "threads.inter_op"};
    case Knob::intra_op:
      return {"--intra-op", "ThreadBudget::intra_op", "threads.intra_op"};
    case Knob::evaluate_every:
      return {"--evaluate-every", "EvaluationOptions::every", "evaluation.every"};
    case Knob::checkpoint_every:
      return {"--checkpoint-every", "CheckpointOptions::every", "checkpoints.every"};
  }
  return {"", "", ""};
}

}  // namespace

std::string knob_name(Knob knob, KnobStyle style) {
  const auto names = names_of(knob);
  switch (style) {
    case KnobStyle::flags:
      break;
    case KnobStyle::options:
      return names.option;
    case KnobStyle::fields:
      return *names.field == '\0' ? "" : text("--set ", names.field);
  }
  return names.flag;
}

}  // namespace troupe
