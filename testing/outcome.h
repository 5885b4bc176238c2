#pragma once

#include <string>
#include <vector>

namespace troupe::contract {

/// What a check of a promise found.
struct Outcome {
  std::vector<std::string> failures;  ///< empty when the promise is kept
  std::string skipped;                ///< why it could not be checked; empty when it was
};

}  // namespace troupe::contract
