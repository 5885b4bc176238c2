#include "troupe/ops/array/families.h"

namespace troupe {

OpFamily array_ops() {
  OpFamily all;
  for (const auto& part : {reshape_ops(), transpose_ops(), join_ops(), slice_ops(), pad_ops(),
                           gather_ops(), counting_ops()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace troupe
