#pragma once

#include <string>
#include <vector>

#include "troupe/actors/explain/bottleneck.h"
#include "troupe/actors/explain/observations.h"
#include "troupe/actors/explain/steady_window.h"

namespace troupe {

/// Where the time of a run went, what limited it, and what to do about it.
struct Explanation {
  Topology topology;
  RunSettings settings;
  double from = 0;  ///< seconds since the run began: the time that is looked at
  double to = 0;
  bool short_run = false;   ///< too short to be sure
  bool data_ended = false;  ///< what came after the end of the data is left out
  Activity activity;
  Finding finding;
  std::vector<Stall> stalls;  ///< of a run that does not move
};

Explanation explain(const Observations& observations, const RunSettings& settings);

/// Two to five lines: the limit with its evidence, the knobs, what else there is.
///
///   limit:  decoders (busy 97 %): decoder 0 was busy 97 % of the time; queue 'shuffle queue'
///           had too little 81 % of the time; replica 0 waited for data 78 % of the time; ...
///   faster: --decoders 4: a decoder uses one CPU at a time, and 0.8 of 2 are idle
std::string summary(const Explanation& explanation, KnobStyle style);

/// A line for each actor: records a second, busy, waiting for input, waiting for
/// output; for queues how full they are; then the CPUs.
std::string activity_table(const Explanation& explanation);

/// A line for each thread of the process: name, owner, share of a CPU.
std::string thread_table(const Explanation& explanation);

/// All of it as one JSON object; docs/reference/explain.md names its fields.
std::string to_json(const Explanation& explanation, KnobStyle style);

}  // namespace troupe
