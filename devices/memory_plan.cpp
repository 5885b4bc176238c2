#include "troupe/devices/memory_plan.h"

#include <algorithm>

#include "troupe/ops/op.h"

namespace troupe {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t bytes_of(const TensorSpec& spec) {
  return static_cast<std::size_t>(spec.shape.volume()) * size_of(spec.dtype);
}

/// Who reads each output's values, aliases included.
class Readers {
 public:
  explicit Readers(const StepOrder& schedule) : by_output_(schedule.step_of.size()) {
    for (std::size_t step = 0; step < schedule.steps.size(); ++step)
      for_each_value_input(*schedule.steps[step],
                           [&](const Output& input) { add(root(input), static_cast<int>(step)); });
  }

  const std::vector<int>& of(const Output& output) const {
    static const std::vector<int> none;
    const auto& outputs = by_output_[output.node().id];
    return output.index() < static_cast<int>(outputs.size()) ? outputs[output.index()] : none;
  }

 private:
  void add(const Output& output, int step) {
    auto& outputs = by_output_[output.node().id];
    outputs.resize(std::max<std::size_t>(outputs.size(), output.index() + 1));
    outputs[output.index()].push_back(step);
  }
  std::vector<std::vector<std::vector<int>>> by_output_;
};

class Planner {
 public:
  Planner(const LoweredGraph& lowered, const StepOrder& schedule, const Precedence& precedence)
      : schedule_(schedule), precedence_(precedence), readers_(schedule) {
    plan_.buffer_of.resize(lowered.graph->nodes().size());
    leaves_.resize(plan_.buffer_of.size());
    for (const auto* outputs : {&lowered.fetches, &lowered.streamed}) {
      for (const auto& output : *outputs) {
        leaving_.push_back(root(output));
        leaves_[leaving_.back().node().id] = 1;
      }
    }
  }

  MemoryPlan plan() {
    for (std::size_t step = 0; step < schedule_.steps.size(); ++step) {
      auto& node = *schedule_.steps[step];
      plan_.buffer_of[node.id].assign(node.outputs.size(), -1);
      for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
        assign(node.output(i), static_cast<int>(step));
    }
    std::vector<PlannedBuffer*> in_arena;
    for (auto& buffer : plan_.buffers)
      if (!buffer.leaves && buffer.spec.dtype != DType::string) in_arena.push_back(&buffer);
    plan_.arena_bytes = place_in_arena(in_arena, precedence_);
    return std::move(plan_);
  }

 private:
  void assign(const Output& output, int step) {
    auto index = output.index() == 0 ? dying_input(output.node(), step) : -1;
    if (index < 0) {
      index = static_cast<int>(plan_.buffers.size());
      plan_.buffers.push_back({bytes_of(output.spec()), {}, false, output.spec(), 0});
    } else {
      ++plan_.in_place;
    }
    auto& buffer = plan_.buffers[index];
    plan_.buffer_of[output.node().id][output.index()] = index;
    buffer.steps.push_back(step);
    const auto& readers = readers_.of(output);
    buffer.steps.insert(buffer.steps.end(), readers.begin(), readers.end());
    if (leaves(output)) {
      buffer.leaves = true;
      buffer.spec = output.spec();
    }
  }

  bool leaves(const Output& output) const {
    return leaves_[output.node().id] && std::ranges::find(leaving_, output) != leaving_.end();
  }

  /// The buffer of an input that this node may write over: of the same size, and
  /// everybody else who touches it is done by then.
  int dying_input(const Node& node, int step) const {
    if (!node.op->in_place) return -1;
    int found = -1;
    for_each_value_input(node, [&](const Output& input) {
      const auto source = root(input);
      const auto& buffers = plan_.buffer_of[source.node().id];
      if (found >= 0 || buffers.empty() || buffers[source.index()] < 0) return;
      const auto& buffer = plan_.buffers[buffers[source.index()]];
      if (buffer.leaves || buffer.spec.dtype == DType::string ||
          node.outputs[0].dtype == DType::string || buffer.bytes != bytes_of(node.outputs[0]))
        return;
      if (std::ranges::all_of(buffer.steps, [&](int other) {
            return other == step || precedence_.before(other, step);
          }))
        found = buffers[source.index()];
    });
    return found;
  }

  const StepOrder& schedule_;
  const Precedence& precedence_;
  const Readers readers_;
  std::vector<char> leaves_;  // by node: whether one of its outputs does
  OutputList leaving_;
  MemoryPlan plan_;
};

/// Whether every step of `a` has ended before the step that makes `b`.
bool over_before(const PlannedBuffer& a, const PlannedBuffer& b, const Precedence& precedence) {
  return std::ranges::all_of(a.steps,
                             [&](int step) { return precedence.before(step, b.steps[0]); });
}

}  // namespace

MemoryPlan plan_memory(const LoweredGraph& lowered, const StepOrder& schedule,
                       const Precedence& precedence) {
  return Planner(lowered, schedule, precedence).plan();
}

std::size_t place_in_arena(const std::vector<PlannedBuffer*>& buffers,
                           const Precedence& precedence) {
  const auto size = [](const PlannedBuffer& buffer) {
    return (buffer.bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  auto by_size = buffers;
  std::ranges::stable_sort(by_size, std::ranges::greater{}, [](const auto* b) { return b->bytes; });
  std::vector<PlannedBuffer*> placed;
  std::size_t total = 0;
  for (auto* buffer : by_size) {
    std::vector<const PlannedBuffer*> in_the_way;
    for (const auto* other : placed)
      if (!over_before(*buffer, *other, precedence) && !over_before(*other, *buffer, precedence))
        in_the_way.push_back(other);
    std::ranges::sort(in_the_way, {}, [](const auto* other) { return other->offset; });
    std::size_t offset = 0;
    for (const auto* other : in_the_way) {
      if (offset + size(*buffer) <= other->offset) break;
      offset = std::max(offset, other->offset + size(*other));
    }
    buffer->offset = offset;
    total = std::max(total, offset + size(*buffer));
    placed.push_back(buffer);
  }
  return total;
}

}  // namespace troupe
