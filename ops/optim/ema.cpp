#include "troupe/ops/optim/ema.h"

#include <algorithm>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/optim/writable.h"

namespace troupe {

double average_decay(double decay, std::optional<std::int64_t> num_updates) {
  if (!num_updates) return decay;
  const auto n = static_cast<double>(*num_updates);
  return std::min(decay, (1 + n) / (10 + n));
}

void update_average(Tensor& average, const Tensor& value, double decay, IntraOp& intra) {
  if (average.dtype() != value.dtype() || !(average.shape() == value.shape()))
    fail(Code::invalid_argument, "the moving average is ", average.dtype(), ' ', average.shape(),
         ", but the value ", value.dtype(), ' ', value.shape());
  dispatch_floating(value.dtype(), "moving average", [&]<class T>() {
    Writable<T> target(average);
    const T* from = value.read<T>().data();
    const auto weight = static_cast<T>(1 - decay);
    intra.parallel_for(value.size(), 2, [&](auto begin, auto end) {
      const simd::InOut<T> part{target.place().from + begin, target.place().to + begin};
      TROUPE_PICK(average_step<T>)(end - begin, part, from + begin, weight);
    });
    target.commit();
  });
}

}  // namespace troupe
