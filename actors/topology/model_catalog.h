#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/pipeline/option_map.h"
#include "troupe/actors/training/model.h"

namespace troupe {

// Models by name, for topology files and for programs that choose at run time. Those of
// ops/nn/models.h are there from the beginning; a program adds its own with register_model().

/// Makes a model from its options. Ask for all of them before anything is returned.
using ModelMaker = std::function<ModelFunction(const OptionMap& options)>;

struct ModelFormat {
  std::string name;     ///< "lenet"
  std::string summary;  ///< "images of 28 x 28 to 10 classes"
  ModelMaker make;
};

/// Adds a model of the user's own; call it before files that name it are read.
/// Throws already_exists when the name is taken.
void register_model(const std::string& name, ModelMaker make, const std::string& summary = {});

/// The model of that name. Throws not_found with the names that there are, and
/// invalid_argument for an option that it does not know:
///
///   model_named("mlp", {{"features", "784"}, {"hidden", "128"}})
ModelFunction model_named(const std::string& name, OptionMap options = {});

/// All that there are, by name.
std::vector<ModelFormat> model_formats();

}  // namespace troupe
