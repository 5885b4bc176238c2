#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/decoders/example_decoder.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/fixed_length_source.h"
#include "troupe/actors/readers/interleave_source.h"
#include "troupe/actors/readers/queue_reader.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/actors/readers/tfrecord_source.h"
#include "troupe/actors/readers/whole_file_source.h"

namespace troupe {

// ---- files, one after the other --------------------------------------------------------------
//
// Paths, patterns ("part-*.tfrecord") or "-"; the options' own list of files is not used. All
// throw at once for what is not there, as the policy says.

/// Lines, with all that TextLineOptions can say.
Records read_lines(const std::vector<std::string>& files, const TextLineOptions& options = {});
/// The records of TFRecord files: example_features decodes them.
Records read_tfrecord(const std::vector<std::string>& files, const TFRecordOptions& options = {});
/// Records of `record_bytes`: raw_bytes decodes them.
Records read_fixed_length(const std::vector<std::string>& files, std::size_t record_bytes,
                          const FixedLengthOptions& options = {});
/// Each file is one record.
Records read_files(const std::vector<std::string>& files, const WholeFileOptions& options = {});

// ---- other ways through the files ------------------------------------------------------------

// What opens one file, for interleave and queue_reader. Its empty files are no error.
FileOpener lines(const TextLineOptions& options = {});
FileOpener tfrecords(const TFRecordOptions& options = {});
FileOpener fixed_length(std::size_t record_bytes, const FixedLengthOptions& options = {});
FileOpener whole_files(const WholeFileOptions& options = {});

/// Records of several files in turn: those of `cycle_length` files, `block_length` of each.
Records interleave(const std::vector<std::string>& files, const FileOpener& open,
                   const InterleaveOptions& options = {});
/// The same with records of any kind in place of the files.
Records interleave(const std::vector<Records>& inputs, const InterleaveOptions& options = {});

/// Every `count`-th record, beginning with number `index`, from 0. Where there are enough
/// files, read shard_files(files, index, count) instead: it reads only those.
Records shard(const Records& records, std::size_t index, std::size_t count);

// ---- decoders --------------------------------------------------------------------------------

/// The bytes of a record as the little-endian values of a tensor; with DType::string and shape
/// {} as they are.
DecoderFactory raw_bytes(DType dtype, const Shape& shape);

/// Features of tf.train.Example messages, one tensor each:
///
///   example_features({{"image", DType::uint8, {28, 28, 1}, {}, true},
///                     {"label", DType::int64}})
DecoderFactory example_features(std::vector<ExampleFeature> features);
/// Features of the context and of each step of tf.train.SequenceExample messages.
DecoderFactory sequence_features(std::vector<ExampleFeature> context,
                                 std::vector<ExampleFeature> steps);

}  // namespace troupe
