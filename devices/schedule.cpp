#include "troupe/devices/schedule.h"

#include <algorithm>
#include <queue>

#include "troupe/ops/op.h"

namespace troupe {
namespace {

bool is_step(const Node& node) {
  const auto name = node.op->name;
  return !node.op->alias && name != "constant" && name != "placeholder" && name != "variable";
}

template <class Fn>
void for_each_predecessor(const Node& node, Fn fn) {
  for_each_value_input(node, [&](const Output& input) { fn(input.node()); });
  for (const auto* before : node.control_inputs) fn(*before);
}

/// The live nodes, each after its predecessors; among those that could be next,
/// the one that comes first in the user's graph.
std::vector<Node*> in_order(const LoweredGraph& lowered) {
  const auto live = live_nodes(lowered);
  const auto count = live.size();
  std::vector<int> waits_for(count, 0);
  std::vector<std::vector<int>> successors(count);
  std::size_t total = 0;
  using Entry = std::pair<int, int>;  // position, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::size_t id = 0; id < count; ++id) {
    if (!live[id]) continue;
    ++total;
    for_each_predecessor(lowered.graph->node(static_cast<int>(id)), [&](const Node& before) {
      ++waits_for[id];
      successors[before.id].push_back(static_cast<int>(id));
    });
    if (waits_for[id] == 0) ready.emplace(lowered.position[id], static_cast<int>(id));
  }
  std::vector<Node*> order;
  order.reserve(total);
  while (!ready.empty()) {
    const auto id = ready.top().second;
    ready.pop();
    order.push_back(&lowered.graph->node(id));
    for (const auto next : successors[id])
      if (--waits_for[next] == 0) ready.emplace(lowered.position[next], next);
  }
  if (order.size() != total)
    fail(Code::internal, "a rewritten graph has a cycle among ", total - order.size(), " nodes");
  return order;
}

}  // namespace

StepOrder make_schedule(const LoweredGraph& lowered) {
  StepOrder schedule;
  schedule.step_of.assign(lowered.graph->nodes().size(), -1);
  std::vector<std::vector<int>> behind(schedule.step_of.size());  // steps that a node stands for
  for (auto* node : in_order(lowered)) {
    std::vector<int> before;
    for_each_predecessor(*node, [&](const Node& other) {
      before.insert(before.end(), behind[other.id].begin(), behind[other.id].end());
    });
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
    if (is_step(*node)) {
      const auto step = static_cast<int>(schedule.steps.size());
      schedule.step_of[node->id] = step;
      schedule.steps.push_back(node);
      schedule.dependencies.push_back(std::move(before));
      behind[node->id] = {step};
    } else {
      behind[node->id] = std::move(before);
    }
  }
  return schedule;
}

Precedence Precedence::by_dependencies(const StepOrder& schedule) {
  Precedence precedence;
  const auto count = schedule.steps.size();
  precedence.words_ = (count + 63) / 64;
  auto& bits = precedence.ancestors_;
  bits.assign(count * precedence.words_, 0);
  for (std::size_t step = 0; step < count; ++step) {
    auto* row = bits.data() + step * precedence.words_;
    for (const auto before : schedule.dependencies[step]) {
      row[before / 64] |= std::uint64_t{1} << (before % 64);
      const auto* other = bits.data() + static_cast<std::size_t>(before) * precedence.words_;
      for (std::size_t w = 0; w < precedence.words_; ++w) row[w] |= other[w];
    }
  }
  return precedence;
}

}  // namespace troupe
