// What docs/ shows about how gradients travel; see snippets_test.cpp.

#include <gtest/gtest.h>

#include "troupe/actors/training/training.h"
#include "troupe/ops/autocast.h"

// clang-format off
namespace troupe {
namespace {

[[maybe_unused]] void sixteen_bits(TrainingOptions& options) {
options.precision = DType::float16;
options.loss_scale.initial = 1024;
options.aggregation.compression = "float16";
}

[[maybe_unused]] void policies_for_some_variables(TrainingOptions& options) {
options.aggregation.policy = "sync";
options.aggregation.groups = {{"embedding/*, bias", "async"}};
}

}  // namespace
}  // namespace troupe
// clang-format on
