#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/topology/topology_file.h"

namespace troupe {

/// What a topology would start, and what it would move and hold, before anything is started.
struct TopologyPlan {
  /// Actors of one kind.
  struct Actors {
    std::string id;     ///< "replica"; of shards and stages each has one of its own: "shard 1"
    std::string name;   ///< "replicas"
    std::string group;  ///< "data", "training", ...: they are shown together
    int count = 1;
    std::string detail;       ///< "50 rows each"
    std::uint64_t bytes = 0;  ///< all of them together hold at most; 0 where it is not counted
    std::string holds;        ///< what that is: "elements, and those of the batch in the making"
    int own_threads = 0;      ///< all of them together, beside those that all actors share
  };
  /// What goes from each of one kind to each of the other.
  struct Flow {
    std::string from;  ///< ids
    std::string to;
    std::string what;                    ///< "gradients"
    std::optional<std::uint64_t> bytes;  ///< from one to one, each time; none where it varies
    std::string when = "step";           ///< "step", "8 steps", "evaluation", "checkpoint"
  };
  struct PlacedVariable {
    std::string name;
    TensorSpec spec;
    std::uint64_t bytes = 0;
    bool trainable = true;
    std::string home;  ///< "shard 1", "stage 0"
    std::string why;
  };
  /// Nodes of the graph that are on one device for one reason.
  struct PlacedNodes {
    std::string device;
    std::string why;
    std::size_t count = 0;
    std::string example;
  };
  /// What a step takes of one resource: a guess.
  struct Cost {
    std::string who;     ///< "replicas"
    double seconds = 0;  ///< a step
    std::string why;     ///< the numbers behind it
  };

  std::string title;  ///< "topology fashion-mnist"
  std::string data;   ///< Batches::describe()
  std::vector<Actors> actors;
  std::vector<Flow> flows;
  std::vector<PlacedVariable> variables;
  std::vector<PlacedNodes> nodes;
  std::vector<Cost> costs;  ///< the largest first
  int inter_op = 1;
  int intra_op = 1;
  int cpus = 1;
  bool top_down = false;  ///< how it is drawn; otherwise from the left to the right
  std::string note;       ///< of stages: how much of the time they wait at best

  /// The sum of what all may hold.
  std::uint64_t bytes() const;
  /// The threads of the process, all together.
  int threads() const;
};

/// The plan of a training or of stages; of an ensemble one for each member that is to be
/// trained, and one for all that answer together.
std::vector<TopologyPlan> plans_of(const TopologyFile& file);

/// For people. With `explain` also where each variable lives and why, where nodes of the graph
/// run and why, what goes from whom to whom, and the numbers behind the bottleneck.
std::string describe(const TopologyPlan& plan, bool explain);

/// A picture in the language of Graphviz.
std::string to_dot(const TopologyPlan& plan);

/// The same of a model: the nodes that its loss, metrics and predictions need.
std::string to_dot(const Model& model, const std::string& title);

}  // namespace troupe
