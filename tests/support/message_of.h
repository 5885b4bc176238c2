#pragma once

#include <string>

#include "troupe/ops/error.h"

namespace troupe::test {

/// What the Error says that fn throws, or "no error".
template <class Fn>
std::string message_of(Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace troupe::test
