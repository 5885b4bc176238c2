#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "troupe/ops/error.h"

namespace troupe::test {

/// The Error that `work` throws. Fails the test, and is Error(ok), when it throws none.
template <class Work>
Error error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return {Code::ok, ""};
}

/// EXPECT_THAT(error_of(work), IsError(Code::data_loss, HasSubstr("file x"))).
MATCHER_P2(IsError, code, words,
           testing::PrintToString(to_string(code)) + " whose words are such that it " +
               testing::DescribeMatcher<std::string>(words)) {
  *result_listener << "which is " << to_string(arg.code()) << ": " << arg.what();
  return arg.code() == code && testing::Matches(words)(std::string(arg.what()));
}

}  // namespace troupe::test
