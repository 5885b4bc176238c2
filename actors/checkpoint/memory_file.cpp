#include "troupe/actors/checkpoint/memory_file.h"

#include "troupe/actors/checkpoint/state_file.h"
#include "troupe/messages/proto/replica_memory.pb.h"
#include "troupe/ops/error.h"

namespace troupe {

std::uint64_t write_memories(const std::string& directory,
                             const std::vector<ReplicaMemory>& memories, Manifest& manifest) {
  if (memories.empty()) return 0;
  proto::ReplicaMemories packed;
  std::vector<NamedTensor> tensors;
  for (const auto& memory : memories) {
    auto& to = *packed.add_memories();
    to.set_replica(memory.replica);
    to.set_loss_scale(memory.loss_scale);
    to.set_good_steps(memory.good_steps);
    for (const auto& [variable, first_row, values] : memory.owed) {
      auto& gradient = *to.add_owed();
      gradient.set_variable(variable);
      gradient.set_first_row(first_row);
      gradient.set_tensor(
          text("owed by replica ", memory.replica, '/', variable, ".rows-", first_row));
      tensors.push_back({gradient.tensor(), values});
    }
  }
  return write_state(directory, kMemoryState, packed.SerializeAsString(), tensors, manifest);
}

std::vector<ReplicaMemory> read_memories(const Checkpoint& checkpoint) {
  const auto state = read_state(checkpoint, kMemoryState);
  if (!state) return {};
  proto::ReplicaMemories packed;
  if (!packed.ParseFromString(state->bytes))
    fail(Code::data_loss, checkpoint.name(), ": what replicas remember cannot be parsed");
  std::vector<ReplicaMemory> memories;
  for (const auto& from : packed.memories()) {
    ReplicaMemory memory{from.replica(), from.loss_scale(), from.good_steps(), {}};
    for (const auto& gradient : from.owed()) {
      auto values = state->read(gradient.tensor());
      if (values.dtype() != DType::float32 && values.dtype() != DType::float64)
        fail(Code::data_loss, checkpoint.name(), ": what is owed to '", gradient.variable(),
             "' is ", values.dtype());
      memory.owed.push_back({gradient.variable(), gradient.first_row(), std::move(values)});
    }
    memories.push_back(std::move(memory));
  }
  return memories;
}

}  // namespace troupe
