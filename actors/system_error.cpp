#include "troupe/actors/system_error.h"

#include <cerrno>
#include <system_error>

#include "troupe/ops/error.h"

namespace troupe {

void system_error(std::string_view what, const std::string& path) {
  const int number = errno;
  Code code = Code::unavailable;
  if (number == ENOENT || number == ENOTDIR) code = Code::not_found;
  if (number == EACCES || number == EPERM || number == EROFS) code = Code::permission_denied;
  if (number == ENOSPC || number == EDQUOT || number == EFBIG || number == EMFILE ||
      number == ENFILE)
    code = Code::resource_exhausted;
  fail(code, "cannot ", what, " ", path, ": ", std::generic_category().message(number));
}

}  // namespace troupe
