#pragma once

#include <string>
#include <vector>

#include "troupe/actors/explain/explanation.h"

namespace troupe::test {

/// What an actor does in each second.
struct Rates {
  double busy = 0;  ///< of the second; cores for a device
  double in = 0;    ///< waiting for input; for a queue, a dequeue was waiting
  double out = 0;
  double records = 0;
  double bytes = 0;
};

/// A run that goes evenly for twenty seconds, looked at every second.
class SyntheticRun {
 public:
  std::size_t add(const std::string& name, Role role, const Rates& rates = {}) {
    topology.nodes.push_back({name, role});
    this->rates.push_back(rates);
    queues.emplace_back();
    return topology.nodes.size() - 1;
  }
  void link(std::size_t from, std::size_t to) { topology.links.push_back({from, to}); }

  /// reader -> decoders -> queue -> feeder -> replicas -> shards, all at rest.
  SyntheticRun(int decoder_count, int replica_count, int shard_count) {
    reader = add("reader", Role::reader);
    queue = add("shuffle queue", Role::queue);
    feeder = add("feeder", Role::feeder);
    for (int i = 0; i < decoder_count; ++i) {
      decoders.push_back(add("decoder " + std::to_string(i), Role::decoder));
      link(reader, decoders.back());
      link(decoders.back(), queue);
    }
    link(queue, feeder);
    for (int i = 0; i < shard_count; ++i)
      shards.push_back(add("shard " + std::to_string(i), Role::shard));
    for (int i = 0; i < replica_count; ++i) {
      replicas.push_back(add("replica " + std::to_string(i), Role::replica));
      link(feeder, replicas.back());
      for (const auto shard : shards) link(replicas.back(), shard);
    }
    device = add("device CPU:0", Role::device);
    evaluator = add("evaluator", Role::evaluator);
    checkpointer = add("checkpointer", Role::checkpointer);
    queues[queue].capacity = 1000;
    settings = {.cpus = 2, .inter_op = 2, .intra_op = 2, .batch = 100};
  }

  void set(const std::vector<std::size_t>& nodes, const Rates& r) {
    for (const auto node : nodes) rates[node] = r;
  }

  /// What is in the shuffle queue.
  void hold(std::int64_t size, std::int64_t capacity, std::int64_t floor = 0) {
    queues[queue].size = size;
    queues[queue].capacity = capacity;
    queues[queue].floor = floor;
  }

  Sample sample(double at) const {
    Sample s;
    s.at = seconds(at);
    s.cpu = seconds(at * cpu);
    for (const auto& thread : threads) {
      s.threads.push_back(thread);
      s.threads.back().cpu = seconds(at * thread.cpu.count() / 100.0);
      s.threads.back().ready = seconds(at * thread.ready.count() / 100.0);
    }
    for (int core = 0; core < settings.cpus; ++core) {
      const double busy = std::min(1.0, (cpu + others) / settings.cpus);
      s.cores.push_back({core, seconds(at * busy), seconds(at * (1 - busy))});
    }
    for (std::size_t i = 0; i < rates.size(); ++i) s.nodes.push_back(node_sample(i, at));
    return s;
  }

  Explanation explain() const {
    Observations observed;
    observed.topology = topology;
    for (int at = 0; at <= 20; ++at) observed.samples.push_back(sample(at));
    return troupe::explain(observed, settings);
  }

  Topology topology;
  RunSettings settings;
  std::vector<Rates> rates;
  std::vector<QueueStatus> queues;  ///< sizes of those nodes that are queues
  std::vector<ThreadUse> threads;   ///< cpu and ready in hundredths of their time
  double cpu = 0;                   ///< cores
  double others = 0;                ///< cores that other programs use
  double growth = 0;                ///< elements a second that the queue becomes fuller
  std::size_t reader = 0, queue = 0, feeder = 0, device = 0, evaluator = 0, checkpointer = 0;
  std::vector<std::size_t> decoders, replicas, shards;

 private:
  static std::chrono::nanoseconds seconds(double time) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(time * 1e9));
  }
  NodeSample node_sample(std::size_t i, double at) const {
    const auto& r = rates[i];
    NodeSample node;
    node.at = seconds(at);
    const auto records = static_cast<std::uint64_t>(r.records * at);
    switch (topology.nodes[i].role) {
      case Role::queue: {
        auto q = queues[i];
        q.size += static_cast<std::int64_t>(growth * at);
        q.dequeued = records;
        q.blocked_on_empty = seconds(r.in * at);
        q.blocked_on_full = seconds(r.out * at);
        node.status = q;
        break;
      }
      case Role::shard: {
        ShardStatus status;
        status.updates = records;
        status.busy = seconds(r.busy * at);
        node.status = status;
        break;
      }
      case Role::device: {
        DeviceStatus status;
        status.runs = records;
        status.busy = seconds(r.busy * at);
        node.status = status;
        break;
      }
      default:
        node.status = StageStatus{records, static_cast<std::uint64_t>(r.bytes * at),
                                  seconds(r.busy * at), seconds(r.in * at), seconds(r.out * at)};
    }
    return node;
  }
};

}  // namespace troupe::test
