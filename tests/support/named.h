#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace troupe::test {

/// A function and what to call it: a parameter of tests that hold for several.
template <class Function>
struct Named {
  std::string name;
  Function function;
};

template <class Function>
std::ostream& operator<<(std::ostream& out, const Named<Function>& named) {
  return out << named.name;
}

/// For INSTANTIATE_TEST_SUITE_P.
template <class Function>
std::string name_of(const testing::TestParamInfo<Named<Function>>& info) {
  return info.param.name;
}

}  // namespace troupe::test
