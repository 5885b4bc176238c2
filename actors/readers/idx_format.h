#pragma once

#include <string>

#include "troupe/actors/readers/array_format.h"

namespace troupe {

/// Opens an IDX file, plain or ".gz" (the format of the MNIST data sets,
/// http://yann.lecun.com/exdb/mnist): two zero bytes, a code for the dtype, the rank, and
/// each extent as a big-endian 32-bit number. Values follow, big-endian.
///
/// Throws the errors of InputFile, expect_readable_again and set_extents, and data_loss,
/// naming the file, for anything else that is no such header.
OpenArray open_idx(const std::string& path);

ArrayFormat idx_format();

}  // namespace troupe
