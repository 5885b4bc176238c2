#include "topology_run.h"

#include <cstdio>

#include "say.h"
#include "train_arguments.h"

namespace troupe::cli {

void complete(TopologyFile& file, const RunArguments& a) {
  auto& o = file.options;
  if (!a.directory.empty()) o.checkpoints.directory = a.directory;
  o.checkpoints.resume = o.checkpoints.resume || a.resume;
  if (o.checkpoints.directory.empty())
    o.checkpoints.directory = own_directory(file.name, o.checkpoints.resume);
  if (a.no_summaries)
    o.summary_directory.clear();
  else if (o.summary_directory.empty() && !file.stages)
    o.summary_directory = o.checkpoints.directory + "/summaries";
  if (a.no_checkpoints) o.checkpoints = {};
  o.labels.emplace("topology", file.name);
  if (a.interval > 0)
    o.progress_interval = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * a.interval));
  o.events = o.stalled = [](const std::string& words) {
    std::fputs("\n", stderr);  // behind the line of progress
    complain("troupe: {}", words);
  };
  if (!file.ensemble) return;
  for (auto& member : file.ensemble->members) {
    auto& m = member.options;
    m.checkpoints = o.checkpoints;
    if (!o.checkpoints.directory.empty()) m.checkpoints.directory += "/" + member.name;
    m.summary_directory = o.summary_directory;
    if (!o.summary_directory.empty()) m.summary_directory += "/" + member.name;
    m.labels = o.labels;
    m.labels["member"] = member.name;
    m.progress_interval = o.progress_interval;
    m.events = o.events;
    m.stalled = o.stalled;
  }
}

}  // namespace troupe::cli
