#include "troupe/actors/explain/activity.h"

#include <algorithm>

namespace troupe {
namespace {

double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double difference(std::uint64_t before, std::uint64_t after) {
  return after > before ? static_cast<double>(after - before) : 0;
}

/// Turns two answers of one actor into shares of the `seconds` between them.
struct Compare {
  double seconds;
  NodeActivity& node;

  /// An answer that lay in a mailbox is older than it looks: what an actor says it
  /// did takes at least as long as it says.
  void stretch(std::chrono::nanoseconds told) { seconds = std::max(seconds, in_seconds(told)); }

  double share(std::chrono::nanoseconds before, std::chrono::nanoseconds after) const {
    return std::max(0.0, in_seconds(after - before)) / seconds;
  }
  void operator()(const StageStatus& a, const StageStatus& b) {
    const auto waited =
        b.waiting_for_input - a.waiting_for_input + b.waiting_for_output - a.waiting_for_output;
    // One that never waits tells time in kernels, of all threads together.
    if (waited.count() > 0) stretch(waited + b.busy - a.busy);
    node.records = difference(a.records, b.records) / seconds;
    node.bytes = difference(a.bytes, b.bytes) / seconds;
    node.busy = share(a.busy, b.busy) + node.silent / seconds;
    node.waiting_in = share(a.waiting_for_input, b.waiting_for_input);
    node.waiting_out = share(a.waiting_for_output, b.waiting_for_output);
    node.idle = std::max(0.0, 1 - node.busy - node.waiting_in - node.waiting_out);
  }
  void operator()(const QueueStatus& a, const QueueStatus& b) {
    stretch(
        std::max(b.blocked_on_empty - a.blocked_on_empty, b.blocked_on_full - a.blocked_on_full));
    node.records = difference(a.dequeued, b.dequeued) / seconds;
    node.waiting_in = share(a.blocked_on_empty, b.blocked_on_empty);
    node.waiting_out = share(a.blocked_on_full, b.blocked_on_full);
    node.size = b.size;
    node.growth = b.size - a.size;
    node.floor = b.floor;
    node.capacity = b.capacity;
    node.bytes_inside = b.bytes;
    node.capacity_bytes = b.capacity_bytes;
    node.closed = b.closed;
  }
  void operator()(const ShardStatus& a, const ShardStatus& b) {
    stretch(b.busy - a.busy);
    node.records = difference(a.updates, b.updates) / seconds;
    node.busy = share(a.busy, b.busy);
    node.load.pushes = difference(a.pushes, b.pushes) / seconds;
    node.load.pulls = difference(a.pulls, b.pulls) / seconds;
    node.load.pushed_rows = difference(a.pushed_rows, b.pushed_rows) / seconds;
    node.load.pulled_rows = difference(a.pulled_rows, b.pulled_rows) / seconds;
    node.load.bytes = b.bytes;
    node.load.version = b.version;
    node.load.replicas = b.replicas;
    node.load.backups = b.backups;
  }
  void operator()(const DeviceStatus& a, const DeviceStatus& b) {
    node.records = difference(a.runs, b.runs) / seconds;
    node.busy = share(a.busy, b.busy);
  }
  template <class A, class B>
  void operator()(const A&, const B&) {
    node.known = false;
  }
};

NodeActivity compare(const NodeSample& before, const NodeSample& after) {
  NodeActivity node;
  node.silent = in_seconds(after.silent);
  const double seconds = in_seconds(after.at - before.at) + node.silent;
  if (seconds <= 0) return node;
  node.known = true;
  std::visit(Compare{seconds, node}, before.status, after.status);
  return node;
}

}  // namespace

Activity activity_between(const Sample& before, const Sample& after) {
  Activity activity;
  activity.seconds = in_seconds(after.at - before.at);
  const double seconds = std::max(1e-9, activity.seconds);
  activity.cpu = in_seconds(after.cpu - before.cpu) / seconds;
  const auto count = std::min(before.nodes.size(), after.nodes.size());
  for (std::size_t i = 0; i < count; ++i)
    activity.nodes.push_back(compare(before.nodes[i], after.nodes[i]));
  activity.nodes.resize(after.nodes.size());
  for (const auto& thread : after.threads) {
    const auto same = [&](const ThreadUse& other) { return other.id == thread.id; };
    const auto found = std::find_if(before.threads.begin(), before.threads.end(), same);
    const auto begin = found == before.threads.end() ? ThreadUse{} : *found;
    activity.threads.push_back({thread.id, thread.name,
                                in_seconds(thread.cpu - begin.cpu) / seconds,
                                in_seconds(thread.ready - begin.ready) / seconds});
    activity.ready += activity.threads.back().ready;
  }
  for (const auto& core : after.cores) {
    const auto same = [&](const CoreUse& other) { return other.id == core.id; };
    const auto found = std::find_if(before.cores.begin(), before.cores.end(), same);
    if (found == before.cores.end()) continue;
    const double busy = in_seconds(core.busy - found->busy);
    const double all = busy + in_seconds(core.idle - found->idle);
    if (all <= 0) continue;
    activity.cores.emplace_back(core.id, busy / all);
    activity.others += busy / all;
  }
  activity.others = std::max(0.0, activity.others - activity.cpu);
  return activity;
}

}  // namespace troupe
