#pragma once

#include <string>
#include <vector>

#include "troupe/actors/decoders/array_decoder.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/readers/array_source.h"
#include "troupe/actors/readers/idx_format.h"
#include "troupe/actors/readers/npy_format.h"

namespace troupe {

/// Items along the first axis of arrays: read_arrays({.files = {"*-images.gz"}}, idx_format()).
/// The files are read one after the other. Throws at once for what cannot be read.
Records read_arrays(const FilesOptions& options, const ArrayFormat& format);

/// Rows along the first axis of arrays that numpy.save has written: paths or patterns.
Records read_npy(const std::vector<std::string>& files);

/// Rows of arrays in an .npz file, side by side: read_npz("x.npz", {"images", "labels"})
/// gives two streams. Throws invalid_argument when they do not have as many rows.
Records read_npz(const std::string& file, const std::vector<std::string>& arrays);

/// Items of such an array, by what its header says, as tensors.
DecoderFactory array_items(const ArrayHeader& header, const ArrayDecoderOptions& options = {});

/// Rows as tensors with dtype and shape of their own, or as the options say. `file` is
/// one of those that are read: its header says what a row looks like.
DecoderFactory npy_rows(const std::string& file, const ArrayDecoderOptions& options = {});
/// The same for an array in an .npz file.
DecoderFactory npz_rows(const std::string& file, const std::string& array,
                        const ArrayDecoderOptions& options = {});

}  // namespace troupe
