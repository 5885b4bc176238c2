#pragma once

#include <string>
#include <vector>

#include "troupe/actors/explain/sample.h"

namespace troupe {

/// The threads of this process and what they have used, by number. From /proc:
/// empty where there is none.
std::vector<ThreadUse> process_threads();

/// The CPUs that this process may run on. From /proc: empty where there is none.
std::vector<CoreUse> schedulable_cores();

/// Who owns a thread of this process, by the thread's name, and which setting
/// says how many of them there are: "worker that actors run on (inter_op)".
/// `topology` knows the actors that have a thread of their own.
std::string owner_of_thread(const std::string& name, bool main,
                            const std::vector<std::string>& actors);

}  // namespace troupe
