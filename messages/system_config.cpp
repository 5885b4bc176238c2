#include "troupe/messages/system_config.h"

#include <sched.h>

#include <caf/all.hpp>

#include "troupe/messages/all_reduce.h"
#include "troupe/messages/replica_memory.h"

namespace troupe {

int schedulable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

ThreadBudget ThreadBudget::resolved() const {
  if (inter_op < 0 || intra_op < 0)
    fail(Code::invalid_argument,
         "inter_op and intra_op are numbers of threads, 0 for all CPUs, but ", inter_op, " and ",
         intra_op, " were given");
  constexpr int kMost = 1024;
  if (inter_op > kMost || intra_op > kMost)
    fail(Code::invalid_argument, "inter_op and intra_op are at most ", kMost, ", but ", inter_op,
         " and ", intra_op, " were given: this machine has ", schedulable_cpus(), " CPUs");
  const int cpus = schedulable_cpus();
  return {inter_op == 0 ? cpus : inter_op, intra_op == 0 ? cpus : intra_op};
}

SystemConfig::SystemConfig(ThreadBudget budget) {
  add_message_types<caf::id_block::troupe>();
  add_message_types<caf::id_block::troupe_handles>();
  add_message_types<caf::id_block::troupe_ensemble>();
  add_message_types<caf::id_block::troupe_stages>();
  add_message_types<caf::id_block::troupe_stage_handles>();
  add_message_types<caf::id_block::troupe_data_state>();
  add_message_types<caf::id_block::troupe_data_state_handles>();
  add_message_types<caf::id_block::troupe_all_reduce>();
  add_message_types<caf::id_block::troupe_reducer>();
  add_message_types<caf::id_block::troupe_memory>();
  add_error_category(caf::atom("troupe"),
                     [](std::uint8_t code, caf::atom_value, const caf::message& context) {
                       std::string line(to_string(static_cast<Code>(code)));
                       if (context.match_elements<std::string>())
                         line += ": " + context.get_as<std::string>(0);
                       return line;
                     });
  const auto workers = budget.resolved().inter_op;
  set("scheduler.max-threads", static_cast<std::size_t>(workers));
  // Workers that steal take the newest job first, and only thieves take the oldest: with a
  // single worker, actors that keep each other busy would leave no turn to anybody else.
  if (workers == 1) set("scheduler.policy", caf::atom("sharing"));
  // An idle worker looks for work of others every 50 us for a while, then waits
  // on a condition; it must not be deaf for long when a neighbour gets busy.
  set("work-stealing.relaxed-sleep-duration", caf::timespan{std::chrono::milliseconds{1}});
}

}  // namespace troupe
