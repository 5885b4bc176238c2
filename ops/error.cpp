#include "troupe/ops/error.h"

namespace troupe {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::cancelled:
      return "cancelled";
    case Code::unknown:
      return "unknown";
    case Code::invalid_argument:
      return "invalid argument";
    case Code::deadline_exceeded:
      return "deadline exceeded";
    case Code::not_found:
      return "not found";
    case Code::already_exists:
      return "already exists";
    case Code::permission_denied:
      return "permission denied";
    case Code::resource_exhausted:
      return "resource exhausted";
    case Code::failed_precondition:
      return "failed precondition";
    case Code::aborted:
      return "aborted";
    case Code::out_of_range:
      return "out of range";
    case Code::unimplemented:
      return "unimplemented";
    case Code::internal:
      return "internal";
    case Code::unavailable:
      return "unavailable";
    case Code::data_loss:
      return "data loss";
  }
  return "unknown code";
}

Error Error::within(std::string_view context) const {
  return Error(code_, text(context, ": ", what()));
}

}  // namespace troupe
