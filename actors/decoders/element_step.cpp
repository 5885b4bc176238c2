#include "troupe/actors/decoders/element_step.h"

#include <exception>
#include <new>

#include "troupe/ops/error.h"

namespace troupe {

bool apply_steps(const std::vector<ElementStep>& steps, Element& element,
                 const std::function<std::string()>& place) {
  try {
    for (const auto& step : steps)
      if (!step(element)) return false;
    return true;
  } catch (const Error& error) {
    throw error.within(place());
  } catch (const std::bad_alloc&) {
    throw;  // no fault of the element
  } catch (const std::exception& error) {
    throw Error(Code::internal, text(place(), ": ", error.what()));
  }
}

}  // namespace troupe
