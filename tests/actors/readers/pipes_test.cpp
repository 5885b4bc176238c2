#include <gmock/gmock.h>
#include <sys/stat.h>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/pipeline/csv.h"
#include "troupe/actors/readers/idx_format.h"
#include "troupe/actors/readers/npy_format.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;

/// Whoever opened a pipe a second time would wait for ever.
TEST(Pipes, AreRefusedWhereTheHeaderIsLookedAtFirst) {
  const test::TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = IsError(Code::invalid_argument, HasSubstr("pipe is no regular file"));
  EXPECT_THAT(error_of([&] { open_idx(pipe); }), refused);
  EXPECT_THAT(error_of([&] { open_npy(pipe); }), refused);
  EXPECT_THAT(error_of([&] { csv_header({pipe}); }), refused);
}

}  // namespace
}  // namespace troupe
