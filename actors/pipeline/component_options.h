#pragma once

#include <string>

#include "troupe/actors/pipeline/option_map.h"
#include "troupe/actors/pipeline/text_places.h"

namespace troupe {

namespace proto {
class Component;
}

/// The options of a reader, a decoder or a model in a file, with their places.
OptionMap options_of(const Located<proto::Component>& component, const std::string& directory);

}  // namespace troupe
