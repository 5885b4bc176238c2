#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "troupe/actors/explain/activity.h"
#include "troupe/actors/explain/knobs.h"

namespace troupe {

/// What keeps a run from being faster.
enum class Limit {
  unknown,      ///< nothing to compare, or nothing stands out
  reader,       ///< files come too slowly, or are cut into records too slowly
  feed,         ///< the program gives too little to a feed
  decoders,     ///< records become tensors too slowly
  batching,     ///< examples are there, but are put together too slowly
  queue,        ///< too small between two that would each be fast enough
  filling,      ///< the queue is still being filled up to its floor
  replicas,     ///< gradients are computed too slowly
  shards,       ///< updates are made too slowly
  waiting,      ///< synchronous replicas wait for the slowest of them
  evaluation,   ///< takes much of the arithmetic
  checkpoints,  ///< are written as fast as the disk takes them
  nothing,      ///< nobody works
};
std::string_view to_string(Limit limit);  ///< "decoders"

/// Something to do about it.
struct Advice {
  Knob knob = Knob::none;
  std::string value;  ///< "4"; empty for a knob that has none
  std::string why;
};

struct Finding {
  Limit limit = Limit::unknown;
  std::string actor;        ///< "decoders", "reader", "queue 'shuffle queue'"
  double busy = 0;          ///< its busy share, 0 to 1; the mean of several
  bool cpus_busy = false;   ///< the process uses all CPUs that it may use
  bool cpus_taken = false;  ///< it could, but other programs have them
  std::string evidence;
  std::vector<Advice> advice;        ///< the best first
  std::vector<std::string> remarks;  ///< what else was noticed
};

/// Walks from the replicas towards whom they wait for, until it comes to somebody
/// who does not wait, and finds the knob that would help, which depends on whether
/// there are CPUs to spare.
///
/// Waiting is what decides, for a stage that is busy all the time slows nobody down
/// unless somebody waits for it. Who is on a CPU matters too: where threads are fewer
/// than actors that could work, an actor that waits for its turn seems to wait for
/// the neighbour whose answer lies in its mailbox.
Finding find_bottleneck(const Topology& topology, const RunSettings& settings,
                        const Activity& activity);

}  // namespace troupe
