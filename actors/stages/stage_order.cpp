#include "troupe/actors/stages/stage_order.h"

#include <algorithm>

#include "troupe/ops/error.h"

namespace troupe {

StageSchedule parse_stage_schedule(std::string_view name) {
  if (name == "gpipe") return StageSchedule::gpipe;
  if (name == "1f1b") return StageSchedule::one_forward_one_back;
  fail(Code::invalid_argument, "there is no schedule '", name, "' of stages, only gpipe and 1f1b");
}

std::vector<StageMove> stage_order(StageSchedule schedule, std::uint32_t stage,
                                   std::uint32_t stages, std::uint32_t micro_batches) {
  const bool last = stage + 1 == stages;
  const auto ahead = last                               ? 0
                     : schedule == StageSchedule::gpipe ? micro_batches
                                                        : std::min(stages - stage, micro_batches);
  std::vector<StageMove> moves;
  for (std::uint32_t i = 0; i < ahead; ++i) moves.push_back({true, i});
  for (std::uint32_t i = 0; i < micro_batches; ++i) {
    moves.push_back({false, i});
    if (!last && ahead + i < micro_batches) moves.push_back({true, ahead + i});
  }
  return moves;
}

}  // namespace troupe
