#include "troupe/ops/channels.h"

#include "troupe/ops/op.h"

namespace troupe {

void expect_channels(const InferContext& c, int first, int last) {
  c.expect_floating(0);
  if (c.shape(0).rank() < 2)
    c.fail("input 0 has shape ", c.shape(0), ", but needs at least two axes: [..., channels]");
  const Shape channels{c.shape(0)[-1]};
  for (int i = first; i < last; ++i) {
    c.expect_same_dtype(0, i);
    if (!compatible(c.shape(i), channels))
      c.fail("input ", i, " has shape ", c.shape(i), ", but needs one value per channel of ",
             c.shape(0), ": ", channels);
  }
}

void expect_same_shape(const InferContext& c, int i) {
  c.expect_same_dtype(0, i);
  if (!compatible(c.shape(0), c.shape(i)))
    c.fail("inputs 0 and ", i, " have shapes ", c.shape(0), " and ", c.shape(i),
           ", but must have the same");
}

}  // namespace troupe
