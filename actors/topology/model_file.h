#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/pipeline/text_places.h"
#include "troupe/actors/training/model.h"

namespace troupe {

namespace proto {
class Model;
}

/// A layer of a topology file.
struct FileLayer {
  std::string name;  ///< empty when the file gives it none
  std::string kind;  ///< "conv2d"
  std::string place;
  /// Throws with the place in front.
  std::function<Output(Output x, bool training)> apply;
};

/// A model of a topology file before it is known what its data are.
struct FileModel {
  struct Measure {
    std::string name;  ///< "accuracy"
    Combine combine = Combine::mean;
    std::function<Output(Output predictions, Output labels)> of;
  };
  ModelFunction program;  ///< or what follows
  std::vector<FileLayer> layers;
  Measure loss;
  std::vector<Measure> metrics;
  bool softmax = false;  ///< predictions are probabilities of the classes

  /// Layers `begin` to `end`, one after the other.
  Output apply(Output x, bool training, std::size_t begin, std::size_t end) const;
  /// The whole model for batches of an input and labels of one example like these; layers
  /// that are in stage i have stage_<i>/ in front of their names, where `ends` says behind how
  /// many layers the stages end.
  ModelFunction function(const TensorSpec& input, const TensorSpec& labels,
                         const std::vector<std::size_t>& ends = {}) const;
};

/// What the message says; nothing when there are problems, which are added.
std::optional<FileModel> read_model(const Located<proto::Model>& model,
                                    const std::string& directory, FileProblems& problems);

}  // namespace troupe
