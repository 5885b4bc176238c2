#include "troupe/ops/catalog.h"

namespace troupe {

OpFamily normalization_ops() { return {}; }

}  // namespace troupe
