#include "troupe/actors/explain/wait_graph.h"

#include <algorithm>

#include "troupe/actors/explain/activity.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

enum class State {
  going,  ///< at work, or not known to be stuck
  waiting_for_input,
  waiting_for_room,
  ended,
};

class WaitGraph {
 public:
  WaitGraph(const Topology& topology, const Sample& before, const Sample& after)
      : topology_(topology), after_(after) {
    const auto activity = activity_between(before, after);
    for (std::size_t i = 0; i < topology.nodes.size(); ++i)
      states_.push_back(i < activity.nodes.size() && i < after.nodes.size()
                            ? state_of(i, activity.nodes[i])
                            : State::going);
    find_stuck();
  }

  std::vector<Stall> stalls() const {
    std::vector<Stall> found;
    std::vector<bool> told(states_.size());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!stuck_[i] || !without_help(i)) continue;
      told[i] = true;
      found.push_back(lonely(i));
    }
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const auto cycle = cycle_from(i);
      if (cycle.empty() ||
          std::any_of(cycle.begin(), cycle.end(), [&](std::size_t node) { return told[node]; }))
        continue;
      for (const auto node : cycle) told[node] = true;
      found.push_back({Stall::Kind::cycle, cycle, words_of_cycle(cycle)});
    }
    return found;
  }

 private:
  State state_of(std::size_t node, const NodeActivity& activity) const {
    if (const auto* status = queue(node)) {
      // Producers that are not in the topology may well go on.
      const auto known = static_cast<std::int64_t>(topology_.before(node).size());
      if (status->waiting_enqueues > 0) return State::waiting_for_room;
      if (status->waiting_dequeues > 0)
        return status->producers > known ? State::going : State::waiting_for_input;
      return status->closed ? State::ended : State::going;
    }
    // An evaluator is at rest until somebody asks it.
    if (!std::holds_alternative<StageStatus>(after_.nodes[node].status) || !activity.known ||
        topology_.nodes[node].role == Role::evaluator)
      return State::going;
    constexpr double kAll = 0.95;
    if (activity.silent > 0 || activity.records > 0) return State::going;
    if (activity.waiting_in > kAll && !holders(node, true).empty()) return State::waiting_for_input;
    if (activity.waiting_out > kAll && !holders(node, false).empty())
      return State::waiting_for_room;
    return activity.idle > kAll ? State::ended : State::going;
  }

  /// Those that an actor gets its input from, or passes its output to, and that let
  /// it wait: a queue does if it holds a request.
  std::vector<std::size_t> holders(std::size_t node, bool input) const {
    auto others = input ? topology_.before(node) : topology_.behind(node);
    std::erase_if(others, [&](std::size_t other) {
      const auto* status = other < after_.nodes.size() ? queue(other) : nullptr;
      return status && (input ? status->waiting_dequeues : status->waiting_enqueues) == 0;
    });
    return others;
  }

  std::vector<std::size_t> waits_for(std::size_t node) const {
    const bool input = states_[node] == State::waiting_for_input;
    if (!input && states_[node] != State::waiting_for_room) return {};
    if (queue(node)) return input ? topology_.before(node) : topology_.behind(node);
    return holders(node, input);
  }

  /// Everybody who waits and whom nobody that can go on will ever help.
  void find_stuck() {
    const auto count = states_.size();
    std::vector<bool> can(count);
    for (std::size_t i = 0; i < count; ++i) can[i] = states_[i] == State::going;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < count; ++i) {
        if (can[i]) continue;
        for (const auto other : waits_for(i))
          if (can[other]) can[i] = changed = true;
      }
    }
    for (std::size_t i = 0; i < count; ++i)
      stuck_.push_back(!can[i] && (states_[i] == State::waiting_for_input ||
                                   states_[i] == State::waiting_for_room));
  }

  const QueueStatus* queue(std::size_t node) const {
    return std::get_if<QueueStatus>(&after_.nodes[node].status);
  }

  /// A queue that waits for nobody: all who could help have ended, or never were.
  bool without_help(std::size_t node) const {
    const auto* status = queue(node);
    if (!status) return false;
    const auto others = waits_for(node);
    const bool nobody = std::all_of(others.begin(), others.end(), [&](std::size_t other) {
      return states_[other] == State::ended;
    });
    if (states_[node] == State::waiting_for_room) return nobody;
    return nobody || (!status->closed && status->producers == 0);
  }

  std::string list(const std::vector<std::size_t>& nodes) const {
    std::string words;
    for (const auto node : nodes) words += (words.empty() ? "" : ", ") + topology_.nodes[node].name;
    return words;
  }

  static std::string fill(const QueueStatus& q) {
    auto words = q.capacity > 0 ? text(q.size, " of ", q.capacity) : text(q.size);
    if (q.floor > 0) words += text(", ", q.floor, " of which stay");
    return words;
  }
  std::string queue_words(std::size_t node) const {
    const auto* status = queue(node);
    return text("queue '", topology_.nodes[node].name, "' (", fill(*status), ")");
  }

  Stall lonely(std::size_t node) const {
    const auto& q = *queue(node);
    if (states_[node] == State::waiting_for_room)
      return {Stall::Kind::no_consumer,
              {node},
              text(queue_words(node), " is full and nobody takes from it: ",
                   who(topology_.behind(node), "consumer"), "; ", q.waiting_enqueues,
                   q.waiting_enqueues == 1 ? " enqueue waits" : " enqueues wait", " for ever")};
    return {
        Stall::Kind::no_producer,
        {node},
        text(queue_words(node), " has no producer: ", who(topology_.before(node), "producer"), "; ",
             q.waiting_dequeues, q.waiting_dequeues == 1 ? " dequeue waits" : " dequeues wait",
             " for ever. Start and attach one, or close the queue")};
  }
  std::string who(const std::vector<std::size_t>& others, const char* what) const {
    if (others.empty()) return text("no ", what, " is connected to it");
    const bool ended = std::all_of(others.begin(), others.end(), [&](std::size_t other) {
      return states_[other] == State::ended;
    });
    return text(list(others), ended ? " ended or never started" : " never attached");
  }

  /// The way from a stuck actor along the first of those it waits for, if it comes
  /// back; without what leads up to it.
  std::vector<std::size_t> cycle_from(std::size_t node) const {
    std::vector<std::size_t> way;
    while (stuck_[node]) {
      const auto seen = std::find(way.begin(), way.end(), node);
      if (seen != way.end()) return {seen, way.end()};
      way.push_back(node);
      const auto others = waits_for(node);
      const auto next = std::find_if(others.begin(), others.end(),
                                     [&](std::size_t other) { return stuck_[other]; });
      if (next == others.end()) return {};
      node = *next;
    }
    return {};
  }

  std::string words_of_cycle(std::vector<std::size_t> cycle) const {
    // It reads best when it begins with an actor, not with a queue.
    const auto stage =
        std::find_if(cycle.begin(), cycle.end(), [&](std::size_t i) { return !queue(i); });
    if (stage != cycle.end()) std::rotate(cycle.begin(), stage, cycle.end());
    std::string words = "cycle: ";
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const auto node = cycle[i];
      const bool input = states_[node] == State::waiting_for_input;
      if (queue(node)) {
        const auto others = waits_for(node);
        const char* only = others.size() == 1 ? "only " : "";
        words += text(", whose ", only, input ? "producer " : "consumer ");
      } else {
        words += text(topology_.nodes[node].name,
                      input ? " waits for an element of " : " waits for room in ");
        const auto next = cycle[(i + 1) % cycle.size()];
        words += queue(next) ? queue_words(next) : topology_.nodes[next].name;
        if (!queue(next) && i + 1 < cycle.size()) words += ", ";
      }
    }
    const auto first = topology_.nodes[cycle.front()].name;
    if (queue(cycle.back())) words += first;
    return words +
           ". A larger capacity of one of these queues, or another order of what an "
           "actor takes and gives, breaks it";
  }

  const Topology& topology_;
  const Sample& after_;
  std::vector<State> states_;
  std::vector<bool> stuck_;
};

}  // namespace

std::vector<Stall> find_stalls(const Topology& topology, const Sample& before,
                               const Sample& after) {
  return WaitGraph(topology, before, after).stalls();
}

}  // namespace troupe
