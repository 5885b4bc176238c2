#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/training/training.h"

namespace troupe::cli {

/// What the command line says about data; empty or 0 for the program's own choice.
struct DataArguments {
  std::string directory;              ///< for programs whose files have names of their own
  std::vector<std::string> features;  ///< files: text lines, or IDX images
  std::vector<std::string> labels;
  std::vector<std::string> test_features;
  std::vector<std::string> test_labels;
  std::int64_t batch = 0;
  std::int64_t epochs = -1;
  std::int64_t capacity = 0;
  std::int64_t min_after_dequeue = -1;
  int decoders = 0;
  std::uint64_t seed = 1;      ///< of everything random in the run
  bool allow_missing = false;  ///< where files have names of their own, some may not be there
};

/// A model with its data and the settings that its authors would use.
struct Program {
  std::string name;
  std::string summary;
  ModelFunction model;
  std::optional<Batches> training;
  std::optional<Batches> test;
  TrainingOptions options;
  bool classifies = false;      ///< predictions are probabilities of classes
  std::string eval_options;     ///< that "troupe eval" needs: " --test-features F ..."
  std::string predict_options;  ///< the same of "troupe predict"
  std::string next;             ///< ends the sentence that says what to try after a run
};

/// Names and one-line descriptions of all programs.
std::vector<std::pair<std::string, std::string>> program_list();

/// Throws UsageError, listing what there is, for an unknown name.
void check_program_name(const std::string& name);

/// A program ready to train. Throws UsageError for an unknown name and not_found for
/// a missing file.
Program training_program(const std::string& name, const DataArguments& arguments);

/// A program with its model and its test data only.
Program evaluation_program(const std::string& name, const DataArguments& arguments);

/// A program with its model only, and the features to predict from as `test`:
/// their labels are not needed.
Program prediction_program(const std::string& name, const DataArguments& arguments);

}  // namespace troupe::cli
