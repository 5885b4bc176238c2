#pragma once

#include <caf/result.hpp>
#include <caf/unit.hpp>
#include <exception>
#include <new>
#include <type_traits>

#include "troupe/messages/fault.h"

namespace troupe {

/// The fault for an exception in flight; call it in a catch block.
inline caf::error current_fault() {
  try {
    throw;
  } catch (const Error& e) {
    return fault(e);
  } catch (const std::bad_alloc&) {
    return fault(Code::resource_exhausted, "out of memory");
  } catch (const std::exception& e) {
    return fault(Code::internal, e.what());
  } catch (...) {
    return fault(Code::unknown, "an exception was thrown that says nothing: no std::exception");
  }
}

/// The same for work that must not look like the clean end of a stream when it fails:
/// out_of_range becomes data_loss.
inline caf::error current_failure() {
  const auto error = current_fault();
  if (code_of(error) != Code::out_of_range) return error;
  return fault(Code::data_loss, to_error(error).what());
}

/// Answers with what `work` returns, or with a fault that carries the
/// exception's words. An exception that leaves a handler would end the actor
/// and lose them.
template <class Work>
caf::result<std::invoke_result_t<Work>> answer(Work work) {
  try {
    return work();
  } catch (...) {
    return current_fault();
  }
}

}  // namespace troupe
