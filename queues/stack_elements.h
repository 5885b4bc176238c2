#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "troupe/messages/payloads.h"

namespace troupe {

/// Puts elements on top of each other: component c of the result is
/// [elements, ...shape of component c], in a block of its own. A single element is
/// not copied: the result shares its values.
///
/// Throws invalid_argument, naming the component, unless all elements have the
/// same number of components, dtypes and shapes.
TensorList stack_elements(std::span<const Element> elements);

/// Throws invalid_argument unless all elements have the same number of components.
void check_widths(std::span<const Element> elements);

/// Bytes of all components together, what strings hold outside of themselves included.
std::uint64_t byte_size(const Element& element);

}  // namespace troupe
