#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "troupe/actors/readers/byte_stream.h"
#include "troupe/ops/dtype.h"
#include "troupe/ops/shape.h"

namespace troupe {

/// What stands at the start of an array that NumPy has saved (formats 1.0 to 3.0,
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
struct NpyHeader {
  DType dtype = DType::float32;
  bool big_endian = false;  ///< order of the bytes of a value in the file
  std::int64_t count = 0;   ///< rows: the first extent
  Shape row;                ///< the other extents
  std::uint64_t header_bytes = 0;

  std::uint64_t row_bytes() const;
};

/// Reads the header at the start of a stream. Throws, naming it,
///
/// - data_loss for anything that is not a header, for rows of more than
///   kMaxRecordBytes, and when the size of the stream, where it is known, is not
///   what the header promises;
/// - invalid_argument for what the format can hold and a training cannot use, with
///   what to do about it: Fortran order, a dtype that Troupe does not have, objects,
///   records with fields, an array without an axis or with rows without a value.
NpyHeader read_npy_header(ByteStream& stream);

/// Opens an array: a file of numpy.save (".npy", also ".npy.gz"), or the member of
/// that name of a file of numpy.savez or numpy.savez_compressed (".npz").
std::unique_ptr<ByteStream> open_npy(const std::string& path, const std::string& member);
NpyHeader read_npy_header(const std::string& path, const std::string& member = {});

}  // namespace troupe
