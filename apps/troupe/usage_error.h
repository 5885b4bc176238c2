#pragma once

#include <string>

#include "troupe/ops/error.h"
#include "troupe/ops/spelling.h"

namespace troupe::cli {

/// The command line is wrong, and that is not known before a program looks at it.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(Code::invalid_argument, message) {}
};

/// Calls fn, which only prepares: what it finds wrong with its arguments is a UsageError.
template <class Fn>
auto preparing(Fn fn) {
  try {
    return fn();
  } catch (const Error& error) {
    if (error.code() != Code::invalid_argument) throw;
    throw UsageError(error.what());
  }
}

/// A message of the library with the names of its C++ options replaced by those
/// of the command line, and left out where there is none. Without `flags`, those
/// that the command line has are left alone, too.
std::string in_plain_words(const std::string& message, bool flags = true);

}  // namespace troupe::cli
