#pragma once

#include <caf/actor_system_config.hpp>

namespace troupe {

/// How many threads a process may use. 0 stands for the CPUs that this process
/// may be scheduled on.
struct ThreadBudget {
  int inter_op = 0;  ///< workers that actors run on: how many things happen at once
  int intra_op = 0;  ///< threads that one device uses inside one op

  /// The same with zeros replaced. Throws invalid_argument for negative numbers.
  ThreadBudget resolved() const;
};

/// The CPUs that the calling process may run on (its affinity mask), at least 1.
int schedulable_cpus();

/// A CAF configuration that knows Troupe's messages and errors and obeys the
/// thread budget: CAF's own default would be at least four workers.
struct SystemConfig : caf::actor_system_config {
  explicit SystemConfig(ThreadBudget budget = {});
};

}  // namespace troupe
