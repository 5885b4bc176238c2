#pragma once

#include "troupe/ops/catalog.h"

namespace troupe {

// The files of this folder, for array_ops().
OpFamily reshape_ops();    // reshape, expand_dims, squeeze, flatten
OpFamily transpose_ops();  // transpose
OpFamily join_ops();       // concat, split, stack, unstack
OpFamily slice_ops();      // slice, strided_slice, reverse
OpFamily pad_ops();        // pad, tile
OpFamily gather_ops();     // gather, scatter_rows
OpFamily counting_ops();   // one_hot, cumsum, shape_of, size_of

}  // namespace troupe
