#include "troupe/actors/aggregation/aggregation_options.h"

#include "troupe/ops/error.h"

namespace troupe {

NotFinite parse_not_finite(std::string_view given) {
  if (given == "fail") return NotFinite::fail;
  if (given == "skip") return NotFinite::skip;
  if (given == "ignore") return NotFinite::ignore;
  fail(Code::invalid_argument,
       "what is done about gradients that are not finite is 'fail', 'skip' or 'ignore', but not '",
       given, "'");
}

}  // namespace troupe
