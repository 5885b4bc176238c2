#include "troupe/devices/partition.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "troupe/ops/op.h"

namespace troupe {
namespace {

using Key = std::pair<int, int>;  // a node and its output; kDone stands for its end
constexpr int kDone = -1;

Key key_of(const Output& output) { return {output.node().id, output.index()}; }

/// What tells that a node has run: its empty output if it has no other.
Key end_of(const Node& node) { return {node.id, node.outputs.empty() ? 0 : kDone}; }

/// What a node depends on that is not on its device.
using Needs = std::vector<Key>;  // sorted

/// In a Needs: what was fed to a device, which is there from the start.
Key fed_to(std::size_t part) { return {-1, static_cast<int>(part)}; }

void add(Needs& needs, const Needs& more) {
  Needs both;
  std::ranges::set_union(needs, more, std::back_inserter(both));
  needs = std::move(both);
}

class Partitioner {
 public:
  Partitioner(const Subgraph& subgraph, const Placement& placement)
      : subgraph_(subgraph),
        placement_(placement),
        fragment_of_(subgraph.graph->nodes().size(), kNone),
        needs_of_(subgraph.graph->nodes().size()) {}

  Partition run() {
    for (const auto& feed : subgraph_.feeds) add_feed(feed);
    for (auto* node : subgraph_.nodes)
      if (!is_copied(*node)) assign(*node);
    for (auto* node : subgraph_.nodes)
      if (!is_copied(*node)) copy(*node);
    for (const auto& fetch : subgraph_.fetches) {
      const auto part = part_of(fetch.node());
      auto& fetched = slot(part, made(fetch, part)).fetched;
      fetched.push_back(out_.parts[part].fetches++);
      out_.fetches.push_back({part, fetched.back()});
    }
    for (std::size_t i = 0; i < subgraph_.streamed.size(); ++i) {
      const auto part = part_of(subgraph_.streamed[i].node());
      slot(part, made(subgraph_.streamed[i], part))
          .streamed.push_back(static_cast<std::uint32_t>(i));
    }
    for (const auto* target : subgraph_.targets)
      if (const auto at = fragment_of_[target->id]; at != kNone)
        fragment(*target).spec.targets.push_back(copies(*target).nodes.at(target->id)->name);
    for (auto& part : out_.parts)
      for (auto& fragment : part.fragments) fragment.spec.graph->finish();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// What is built of a fragment.
  struct Copies {
    std::map<Key, Output> values;        // of the user's graph -> of the fragment's
    std::map<int, Node*> nodes;          // copies
    std::map<Key, std::uint32_t> slots;  // that it waits for already
  };

  bool is_fed(const Output& output) const {
    return std::ranges::find(subgraph_.feeds, output) != subgraph_.feeds.end();
  }
  bool is_fed(Node& node) const {
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
      if (is_fed(node.output(i))) return true;
    return false;
  }
  /// Constants are in every fragment that reads them.
  bool is_copied(const Node& node) const {
    return node.op->name == "constant" && node.control_inputs.empty() &&
           std::ranges::find(subgraph_.targets, &node) == subgraph_.targets.end();
  }

  std::size_t part_of(const Node& node) {
    const auto device = placement_.device_of(node);
    const auto [known, added] = part_of_device_.emplace(device, out_.parts.size());
    if (added) {
      out_.parts.emplace_back().device = device;
      fragments_by_needs_.emplace_back();
      slots_.emplace_back();
      copies_.emplace_back();
    }
    return known->second;
  }

  std::uint32_t new_slot(std::size_t part, Key key) {
    auto& slots = out_.parts[part].slots;
    const auto& name = subgraph_.graph->node(key.first).name;
    slots.emplace_back().name = key.second > 0 ? text(name, ':', key.second) : name;
    return slots_[part][key] = static_cast<std::uint32_t>(slots.size() - 1);
  }
  PartSlot& slot(std::size_t part, std::uint32_t at) { return out_.parts[part].slots[at]; }

  void add_feed(const Output& feed) {
    const auto part = part_of(feed.node());
    auto& feeds = out_.parts[part].feeds;
    out_.feeds.push_back({part, feeds.size()});
    feeds.push_back(new_slot(part, key_of(feed)));
  }

  // Which nodes run as one

  void assign(Node& node) {
    const auto part = part_of(node);
    Needs needs;
    for (const auto& input : node.inputs) {
      const auto from = part_of(input.node());
      if (is_fed(input)) {
        if (from != part) add(needs, {fed_to(from)});
      } else if (!is_copied(input.node())) {
        add(needs, from == part ? needs_of_[input.node().id] : Needs{key_of(input)});
      }
    }
    for (auto* before : node.control_inputs) {
      if (is_fed(*before) || is_copied(*before)) continue;
      add(needs, part_of(*before) == part ? needs_of_[before->id] : Needs{end_of(*before)});
    }
    const auto [known, added] = fragments_by_needs_[part].emplace(needs, copies_[part].size());
    if (added) {
      copies_[part].emplace_back();
      auto& fragment = out_.parts[part].fragments.emplace_back();
      fragment.spec.graph = std::make_shared<Graph>();
    }
    fragment_of_[node.id] = known->second;
    needs_of_[node.id] = std::move(needs);
  }

  PartFragment& fragment(const Node& node) {
    return out_.parts[part_of(node)].fragments[fragment_of_[node.id]];
  }
  Copies& copies(const Node& node) { return copies_[part_of(node)][fragment_of_[node.id]]; }

  // The graphs of the fragments

  void copy(Node& node) {
    const auto part = part_of(node);
    const auto at = fragment_of_[node.id];
    OutputList inputs;
    for (const auto& input : node.inputs) inputs.push_back(value_in(part, at, input));
    auto& copies = copies_[part][at];
    std::vector<Node*> after;
    for (auto* before : node.control_inputs) {
      if (is_fed(*before) || is_copied(*before)) continue;
      if (part_of(*before) == part && fragment_of_[before->id] == at)
        after.push_back(copies.nodes.at(before->id));
      else
        await(part, at, end_of(*before));
    }
    auto& graph = *out_.parts[part].fragments[at].spec.graph;
    auto& copied = graph.add(node.op->name, inputs, node.attributes, node.name);
    copied.control_inputs = std::move(after);
    copies.nodes[node.id] = &copied;
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
      if (!is_fed(node.output(i))) copies.values.try_emplace({node.id, i}, copied.output(i));
  }

  /// An input of a node as that fragment knows it.
  Output value_in(std::size_t part, std::size_t at, const Output& input) {
    auto& copies = copies_[part][at];
    if (const auto known = copies.values.find(key_of(input)); known != copies.values.end())
      return known->second;
    auto& fragment = out_.parts[part].fragments[at];
    auto& node = input.node();
    if (!is_fed(input) && is_copied(node)) {
      auto& constant = fragment.spec.graph->add("constant", {}, node.attributes, node.name);
      return copies.values[key_of(input)] = constant.output(0);
    }
    // A feed, called as it is in the user's graph, for errors.
    const bool variable = node.op->name == "variable";
    auto& added = fragment.spec.graph->add(
        variable ? "variable" : "placeholder", {},
        variable ? node.attributes : Attributes{{"dtype", input.dtype()}, {"shape", input.shape()}},
        input.name());
    fragment.spec.feeds.push_back(text(added.name, ":0"));
    fragment.feeds.push_back(await(part, at, key_of(input)));
    return copies.values[key_of(input)] = added.output(0);
  }

  /// The slot in which the fragment finds something that it does not make itself.
  std::uint32_t await(std::size_t part, std::size_t at, Key key) {
    auto& known = copies_[part][at].slots;
    if (const auto found = known.find(key); found != known.end()) return found->second;
    const auto found = slots_[part].find(key);
    const auto there = found != slots_[part].end() ? found->second : arriving(part, key);
    auto& fragment = out_.parts[part].fragments[at];
    slot(part, there).awaited_by.push_back(at);
    ++fragment.awaits;
    return known[key] = there;
  }

  /// A slot for what another part has, or another fragment of this one.
  std::uint32_t arriving(std::size_t part, Key key) {
    auto& node = subgraph_.graph->node(key.first);
    const auto from = part_of(node);
    if (from == part) return exported(key);
    const auto source = slots_[from].find(key);
    const auto there = source != slots_[from].end() ? source->second : exported(key);
    const auto here = new_slot(part, key);
    slot(from, there).edges.push_back({part, here});
    return here;
  }

  /// The slot that the fragment that makes it fills.
  std::uint32_t exported(Key key) {
    auto& node = subgraph_.graph->node(key.first);
    const auto part = part_of(node);
    const auto at = fragment_of_[node.id];
    auto& fragment = out_.parts[part].fragments[at];
    auto& copied = *copies_[part][at].nodes.at(node.id);
    if (key.second == kDone) {
      auto& end = fragment.spec.graph->add("no_op", {}, {}, text(node.name, "/done"));
      end.control_inputs = {&copied};
      fragment.spec.streamed.push_back(end.name);
    } else {
      fragment.spec.streamed.push_back(node.outputs.empty() ? copied.name
                                                            : text(copied.name, ':', key.second));
    }
    fragment.outputs.push_back(new_slot(part, key));
    return fragment.outputs.back();
  }

  /// The slot of a value that leaves the graph.
  std::uint32_t made(const Output& output, std::size_t part) {
    if (!is_fed(output) && is_copied(output.node()) && fragment_of_[output.node().id] == kNone) {
      assign(output.node());
      copy(output.node());
    }
    const auto found = slots_[part].find(key_of(output));
    return found != slots_[part].end() ? found->second : exported(key_of(output));
  }

  const Subgraph& subgraph_;
  const Placement& placement_;
  Partition out_;
  std::map<std::size_t, std::size_t> part_of_device_;
  std::vector<std::map<Needs, std::size_t>> fragments_by_needs_;  // by part
  std::vector<std::map<Key, std::uint32_t>> slots_;               // by part
  std::vector<std::vector<Copies>> copies_;                       // by part and fragment
  std::vector<std::size_t> fragment_of_;                          // by node
  std::vector<Needs> needs_of_;                                   // by node
};

}  // namespace

std::size_t Partition::edges() const {
  std::size_t count = 0;
  for (const auto& part : parts)
    for (const auto& slot : part.slots) count += slot.edges.size();
  return count;
}

Partition partition(const Subgraph& subgraph, const Placement& placement) {
  return Partitioner(subgraph, placement).run();
}

}  // namespace troupe
