#include "troupe/ops/spelling.h"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(Suggestion, IsTheWordThatIsNearest) {
  EXPECT_EQ(suggestion("tran", {"eval", "train", "data"}), "; did you mean 'train'?");
  EXPECT_EQ(suggestion("rep", {"shards", "replicas"}), "; did you mean 'replicas'?");
  EXPECT_EQ(suggestion("foo", {"eval", "train"}), "");
  EXPECT_EQ(suggestion("", {"a"}), "");
  EXPECT_EQ(suggestion("x", {}), "");
  EXPECT_EQ(suggestion(std::string(100'000, 'x'), {"eval"}), "");
}

}  // namespace
}  // namespace troupe
