#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/ensemble/ensemble.h"
#include "troupe/actors/pipeline/text_places.h"
#include "troupe/actors/stages/staged_training.h"
#include "troupe/actors/training/training.h"

namespace troupe {

/// A model that is cut into stages.
struct StagedTopology {
  StagedModel model;
  StagedTrainingOptions options;
  std::vector<std::string> layers;  ///< of each stage, for people: "conv1, max_pool"
};

/// Models that are trained for themselves, and answer together.
struct EnsembleTopology {
  struct Member {
    std::string name;
    ModelFunction model;
    double weight = 1;
    std::string checkpoint;   ///< of a model that is trained already; empty for one to train
    TrainingOptions options;  ///< of its training; where there are checkpoints, in a directory
                              ///< of its own below that of the topology
  };
  EnsembleOptions options;
  std::string combiner;  ///< its name
  std::vector<Member> members;
};

/// What a topology file describes: Protobuf's text format of messages/proto/topology.proto,
/// explained in docs/reference/topology-files.md.
///
///   const auto file = read_topology("fashion.pbtxt");
///   Training training(file.model, file.data, file.options);
struct TopologyFile {
  std::string path;
  std::string name;  ///< that it gives itself; else the file's without its ending
  Batches data;
  ModelFunction model;      ///< not of an ensemble. Of stages: the whole, with their variables
  TrainingOptions options;  ///< not of stages; of an ensemble what its members have in common
  std::optional<StagedTopology> stages;
  std::optional<EnsembleTopology> ensemble;
};

/// Reads such a file, with these settings instead of what it says. Nothing runs yet, but what
/// cannot run is refused with FileError: a line for each problem, with file, line and column.
TopologyFile read_topology(const std::string& path, const std::vector<FileSetting>& settings = {});

/// The same from the text of a file; `path` is where it might stand.
TopologyFile parse_topology(const std::string& text, const std::string& path,
                            const std::vector<FileSetting>& settings = {});

}  // namespace troupe
