#include "troupe/actors/training/replica_memory.h"

#include <charconv>

#include "troupe/actors/aggregation/replica_memories.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

OwedGradient owed_gradient(const std::string& part, const Tensor& values) {
  const auto end = part.rfind('/');
  OwedGradient gradient{part.substr(0, end), 0, values};
  std::from_chars(part.data() + end + 1, part.data() + part.size(), gradient.first_row);
  return gradient;
}

ReplicaMemory made_of(const ReplicaOptions& options, const LossScale& scale,
                      const std::map<std::string, Tensor>& owed) {
  ReplicaMemory memory;
  memory.replica = options.index;
  if (options.fragment.loss_scale) {
    memory.loss_scale = scale.value();
    memory.good_steps = scale.good_steps();
  }
  for (const auto& [part, values] : owed) memory.owed.push_back(owed_gradient(part, values));
  return memory;
}

LossScale noted(LossScale scale, SetFate fate, const std::string& whom) {
  try {
    scale.note(fate, whom);
  } catch (const Error&) {
    // The replica itself will say so.
  }
  return scale;
}

}  // namespace

std::string part_name(const std::string& variable, std::int64_t first_row) {
  return text(variable, '/', first_row);
}

bool keeps_memory(const ReplicaOptions& options) {
  return options.fragment.loss_scale || GradientCompressor(options.compression).owes();
}

MemoryOfSet memory_of_set(const ReplicaState& s, const ReplicaOptions& options) {
  return {s.order,
          made_of(options, noted(s.loss_scale, SetFate::applied, s.title),
                  s.compressor.owed_when_applied()),
          made_of(options, noted(s.loss_scale, SetFate::skipped, s.title), s.compressor.owed())};
}

void remember(ReplicaState& s, const ReplicaOptions& options, const ReplicaMemory& memory) {
  if (options.fragment.loss_scale && memory.loss_scale > 0)
    s.loss_scale.restore(memory.loss_scale, memory.good_steps);
  if (!s.compressor.owes()) return;
  std::map<std::string, Tensor> owed;
  for (const auto& [variable, first_row, values] : in_one_piece(memory.owed)) {
    const auto places = s.places.find(variable);
    if (places == s.places.end()) continue;
    for (const auto& [shard, range] : places->second) {
      if (range.total > 0 && (values.shape().rank() == 0 || values.shape()[0] != range.total))
        continue;
      owed[part_name(variable, range.first)] =
          range.total > 0 ? values.slice(range.first, range.first + range.count) : values;
    }
  }
  s.compressor.restore(std::move(owed));
}

}  // namespace troupe
