#include "troupe/ops/nn/losses.h"

#include "troupe/ops/elementwise.h"
#include "troupe/ops/losses.h"
#include "troupe/ops/reductions.h"

namespace troupe::nn {

Output mean_squared_error(Output predictions, Output targets) {
  return reduce_mean(squared_difference(predictions, targets));
}

Output root_mean_squared_error(Output predictions, Output targets) {
  return sqrt(mean_squared_error(predictions, targets));
}

Output cross_entropy(Output logits, Output labels) {
  return reduce_mean(is_integer(labels.dtype()) ? sparse_softmax_cross_entropy(logits, labels)
                                                : softmax_cross_entropy(logits, labels));
}

Output total_loss(Output loss) {
  OutputList terms{loss};
  for (const auto& term : loss.graph().regularizers()) terms.push_back(term);
  return terms.size() == 1 ? loss : add_n(terms);
}

}  // namespace troupe::nn
