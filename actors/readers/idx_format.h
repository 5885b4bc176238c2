#pragma once

#include <cstdint>
#include <string>

#include "troupe/ops/dtype.h"
#include "troupe/ops/shape.h"

namespace troupe {

class InputFile;

/// What stands at the start of an IDX file (the format of the MNIST data sets,
/// http://yann.lecun.com/exdb/mnist): two zero bytes, a code for the dtype, the
/// rank, and each extent as a big-endian 32-bit number. Values follow, big-endian.
struct IdxHeader {
  DType dtype = DType::uint8;
  std::int64_t count = 0;  ///< items: the first extent
  Shape item;              ///< the other extents
  std::uint64_t header_bytes = 0;

  std::uint64_t item_bytes() const;
};

/// Reads the header at the start of a file. Throws data_loss, naming the file, for
/// anything that is not one, for items of more than kMaxRecordBytes, and when the
/// size of the file, where it is known, is not what the header promises.
IdxHeader read_idx_header(InputFile& file);
IdxHeader read_idx_header(const std::string& path);

}  // namespace troupe
