#include "troupe/actors/stages/stage_order.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr auto kGpipe = StageSchedule::gpipe;
constexpr auto k1F1B = StageSchedule::one_forward_one_back;

/// "F0 F1 B0 B1".
std::string words(const std::vector<StageMove>& moves) {
  std::string all;
  for (const auto& [forward, micro_batch] : moves)
    all += text(all.empty() ? "" : " ", forward ? 'F' : 'B', micro_batch);
  return all;
}

TEST(StageOrder, OfGpipeTakesEverythingForwardFirst) {
  EXPECT_EQ(words(stage_order(kGpipe, 0, 3, 3)), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(words(stage_order(kGpipe, 2, 3, 3)), "B0 B1 B2");
}

TEST(StageOrder, Of1F1BTakesOneForwardForEachThatComesBack) {
  EXPECT_EQ(words(stage_order(k1F1B, 0, 3, 5)), "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4");
  EXPECT_EQ(words(stage_order(k1F1B, 1, 3, 5)), "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4");
  EXPECT_EQ(words(stage_order(k1F1B, 2, 3, 5)), "B0 B1 B2 B3 B4");
}

TEST(StageOrder, Of1F1BTakesFewMicroBatchesAsTheyAre) {
  EXPECT_EQ(words(stage_order(k1F1B, 0, 4, 2)), "F0 F1 B0 B1");
}

/// Every stage makes its moves as soon as its neighbours let it, each in one unit of time.
struct Played {
  int time = 0;
  int most_under_way = 0;
};
Played play(StageSchedule schedule, std::uint32_t stages, std::uint32_t micro_batches) {
  std::vector<std::vector<StageMove>> moves;
  for (std::uint32_t s = 0; s < stages; ++s)
    moves.push_back(stage_order(schedule, s, stages, micro_batches));
  // forward[s][m]: stage s has sent m on; back[s][m]: its gradient has arrived at stage s - 1.
  std::vector<std::vector<bool>> forward(stages, std::vector<bool>(micro_batches)), back = forward;
  std::vector<std::size_t> next(stages);
  Played played;
  const auto done = [&] {
    for (std::uint32_t s = 0; s < stages; ++s)
      if (next[s] < moves[s].size()) return false;
    return true;
  };
  for (; !done() && played.time < 1000; ++played.time) {
    const auto sent = forward, returned = back;  // as they were when this unit began
    for (std::uint32_t s = 0; s < stages; ++s) {
      if (next[s] == moves[s].size()) continue;
      const auto [ahead, m] = moves[s][next[s]];
      const bool has_input = s == 0 || sent[s - 1][m];
      const bool has_gradient = s + 1 == stages || returned[s + 1][m];
      if (!has_input || (!ahead && !has_gradient)) continue;
      (ahead ? forward : back)[s][m] = true;
      ++next[s];
      const auto under_way = std::count(forward[s].begin(), forward[s].end(), true) -
                             std::count(back[s].begin(), back[s].end(), true);
      played.most_under_way = std::max(played.most_under_way, static_cast<int>(under_way));
    }
  }
  return played;
}

TEST(StageOrder, NeverWaitsForItself) {
  for (const auto schedule : {kGpipe, k1F1B})
    for (std::uint32_t stages = 2; stages < 7; ++stages)
      for (std::uint32_t micro_batches = 1; micro_batches < 12; ++micro_batches)
        EXPECT_LT(play(schedule, stages, micro_batches).time, 1000)
            << stages << " stages, " << micro_batches << " micro-batches";
}

TEST(StageOrder, Of1F1BHoldsNoMoreThanThereAreStages) {
  EXPECT_EQ(play(k1F1B, 4, 16).most_under_way, 4);
  EXPECT_EQ(play(kGpipe, 4, 16).most_under_way, 16);
}

TEST(StageSchedule, HasANameForPeople) {
  EXPECT_EQ(parse_stage_schedule("gpipe"), kGpipe);
  EXPECT_EQ(parse_stage_schedule("1f1b"), k1F1B);
  EXPECT_THROW(parse_stage_schedule("zero-bubble"), Error);
}

}  // namespace
}  // namespace troupe
