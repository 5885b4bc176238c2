#pragma once

#include <string>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/pipeline/text_places.h"

namespace troupe {

namespace proto {
class Pipeline;
}

/// The batches that a part of a larger file describes, as read_pipeline() does; relative names
/// are seen from `directory`.
Batches pipeline_of(const Located<proto::Pipeline>& file, const std::string& directory);

}  // namespace troupe
