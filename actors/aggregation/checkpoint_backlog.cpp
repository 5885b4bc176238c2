#include "troupe/actors/aggregation/checkpoint_backlog.h"

#include <utility>

namespace troupe {

void CheckpointBacklog::go_on() {
  if (std::exchange(going_on_, true)) return;
  while (!full() && !later_.empty()) {
    const auto work = std::move(later_.front());
    later_.pop_front();
    work();
  }
  going_on_ = false;
}

}  // namespace troupe
