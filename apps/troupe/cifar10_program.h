#pragma once

#include "programs.h"

namespace troupe::cli {

/// The network of TensorFlow's CIFAR-10 tutorial with its distortions and its settings.
/// The data are in a directory: data_batch_*.bin and test_batch.bin; the first are needed
/// for training only.
Program cifar10_program(const DataArguments& arguments, bool with_training);

}  // namespace troupe::cli
