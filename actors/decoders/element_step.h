#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/messages/payloads.h"

namespace troupe {

/// Something that is done to each element on its way into the queue: changes it, or
/// returns false to leave it out. The decoders call it, several at the same time.
using ElementStep = std::function<bool(Element&)>;

/// Takes an element through the steps; false when one of them left it out. What a
/// step throws becomes an Error that starts with place(), which is not called before.
bool apply_steps(const std::vector<ElementStep>& steps, Element& element,
                 const std::function<std::string()>& place);

}  // namespace troupe
