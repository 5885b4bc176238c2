#include "troupe/ops/catalog.h"
#include "troupe/ops/math/reduction_families.h"

namespace troupe {

OpFamily reduction_ops() {
  OpFamily all;
  for (const auto& part :
       {axis_reduction_ops(), prod_gradient_ops(), arg_ops(), broadcast_like_ops()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace troupe
