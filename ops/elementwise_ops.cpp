#include "troupe/ops/catalog.h"
#include "troupe/ops/math/families.h"

namespace troupe {

OpFamily elementwise_ops() {
  OpFamily all;
  for (const auto& part : {arithmetic_ops(), comparison_ops(), select_ops(), cast_ops(),
                           round_ops(), check_ops(), sum_ops(), unary_ops(), activation_ops()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace troupe
