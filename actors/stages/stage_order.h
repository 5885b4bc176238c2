#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe {

/// In which order a stage takes the micro-batches of a step forward and back.
enum class StageSchedule {
  gpipe,                 ///< all forward, then all back (Huang et al. 2019): holds all of them
  one_forward_one_back,  ///< "1F1B" (PipeDream-Flush, Narayanan et al. 2021): holds no more than
                         ///< there are stages from this one on
};

/// "gpipe" or "1f1b". Throws invalid_argument.
StageSchedule parse_stage_schedule(std::string_view name);

/// One thing that a stage does with a micro-batch.
struct StageMove {
  bool forward = true;
  std::uint32_t micro_batch = 0;
  bool operator==(const StageMove&) const = default;
};

/// All moves of one step of stage `stage` of `stages`. The last stage makes a forward
/// and a backward move in one: of it only the backward moves are listed.
std::vector<StageMove> stage_order(StageSchedule schedule, std::uint32_t stage,
                                   std::uint32_t stages, std::uint32_t micro_batches);

}  // namespace troupe
