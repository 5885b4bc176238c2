#include "troupe/ops/catalog.h"
#include "troupe/ops/math/random_families.h"

namespace troupe {

OpFamily random_ops() {
  OpFamily all;
  for (const auto& part : {random_value_ops(), dropout_ops()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace troupe
