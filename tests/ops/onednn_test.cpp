#include "troupe/ops/onednn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "support/error_matcher.h"

namespace troupe::test {
namespace {

using testing::StrEq;

TEST(Onednn, FailsInTheNameOfTheNode) {
  const auto failing = [](dnnl_status_t status) {
    return error_of([status] {
      onednn::guarded("node 'conv1' (conv2d)", "convolve",
                      [status] { throw dnnl::error(status, "could not create a primitive"); });
    });
  };
  EXPECT_THAT(failing(dnnl_unimplemented),
              IsError(Code::unimplemented,
                      StrEq("node 'conv1' (conv2d): oneDNN failed to convolve: could not create a "
                            "primitive (status 3)")));
  EXPECT_EQ(failing(dnnl_out_of_memory).code(), Code::resource_exhausted);
  EXPECT_EQ(failing(dnnl_runtime_error).code(), Code::internal);
}

TEST(Onednn, KeepsOpenMpOnTheCallersThreadAndGivesItBack) {
  omp_set_num_threads(3);
  onednn::guarded("node", "work", [] { EXPECT_EQ(omp_get_max_threads(), 1); });
  EXPECT_EQ(omp_get_max_threads(), 3);
}

}  // namespace
}  // namespace troupe::test
