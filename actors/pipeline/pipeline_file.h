#pragma once

#include <string>

#include "troupe/actors/pipeline/pipeline.h"

namespace troupe {

/// The batches that a pipeline file describes: Protobuf's text format of
/// messages/proto/pipeline.proto, explained in docs/reference/pipeline-files.md.
///
///   stream {
///     reader { name: "text" option { name: "files" value: "train-*.txt" } }
///     decoder { name: "numbers" option { name: "shape" value: "15" } }
///   }
///   shuffle { capacity: 10000 min_after_dequeue: 1000 }
///   batch { rows: 100 remainder: DROP }
///
/// Relative names of data files are seen from the directory of the pipeline file.
/// Nothing runs yet, but what cannot run is refused, with file, line and column:
/// invalid_argument for what is not such a file or asks for what is impossible,
/// not_found for readers, decoders and data files that are not there.
Batches read_pipeline(const std::string& path);

/// The same from the text of a file; `path` is where it might stand.
Batches parse_pipeline(const std::string& text, const std::string& path);

}  // namespace troupe
