#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/decoders/npy_decoder.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/readers/npy_source.h"

namespace troupe {

/// Rows along the first axis of arrays that numpy.save has written: paths or patterns;
/// the files are read one after the other. Throws at once for what cannot be read.
Records read_npy(const std::vector<std::string>& files);
Records read_npy(const NpyOptions& options);

/// Rows of arrays in an .npz file, side by side: read_npz("x.npz", {"images", "labels"})
/// gives two streams. Throws invalid_argument when they do not have as many rows.
Records read_npz(const std::string& file, const std::vector<std::string>& arrays);

/// Rows as tensors with dtype and shape of their own, or as the options say. `file` is
/// one of those that are read: its header says what a row looks like.
DecoderFactory npy_rows(const std::string& file, const NpyDecoderOptions& options = {});
/// The same for an array in an .npz file.
DecoderFactory npz_rows(const std::string& file, const std::string& array,
                        const NpyDecoderOptions& options = {});

}  // namespace troupe
