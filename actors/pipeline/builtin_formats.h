#pragma once

#include <vector>

#include "troupe/actors/pipeline/catalog.h"

namespace troupe {

/// Troupe's own readers and decoders; docs/reference/pipeline-files.md lists their options.
std::vector<ReaderFormat> builtin_readers();
std::vector<DecoderFormat> builtin_decoders();

}  // namespace troupe
