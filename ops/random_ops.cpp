#include "troupe/ops/catalog.h"

namespace troupe {

OpFamily random_ops() { return {}; }

}  // namespace troupe
