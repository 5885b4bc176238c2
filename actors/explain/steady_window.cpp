#include "troupe/actors/explain/steady_window.h"

#include <algorithm>

#include "troupe/actors/explain/activity.h"

namespace troupe {
namespace {

constexpr std::chrono::seconds kWarmUp{2};
constexpr std::chrono::milliseconds kLeast{1000};

std::uint64_t records_of(const Sample& sample, std::size_t node) {
  const auto* stage =
      node < sample.nodes.size() ? std::get_if<StageStatus>(&sample.nodes[node].status) : nullptr;
  return stage ? stage->records : 0;
}

/// Whether all of these did nothing, not even wait, for some of the time between.
bool idle_between(const Sample& before, const Sample& after, const std::vector<std::size_t>& who) {
  constexpr double kMuch = 0.3;
  const auto activity = activity_between(before, after);
  return !who.empty() && std::all_of(who.begin(), who.end(), [&](std::size_t node) {
    return node < activity.nodes.size() && activity.nodes[node].known &&
           activity.nodes[node].idle > kMuch;
  });
}

}  // namespace

std::vector<std::size_t> data_path(const Topology& topology) {
  auto found = topology.all(Role::replica);
  const auto replicas = found.size();
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const auto node : topology.before(found[i]))
      if (std::find(found.begin(), found.end(), node) == found.end()) found.push_back(node);
  found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(replicas));
  std::sort(found.begin(), found.end());
  return found;
}

SteadyWindow steady_window(const Topology& topology, std::span<const Sample> samples) {
  SteadyWindow window;
  if (samples.size() < 2) {
    window.short_run = true;
    return window;
  }
  const auto replicas = topology.all(Role::replica);
  std::vector<std::size_t> readers;
  for (const auto node : data_path(topology))
    if (topology.nodes[node].role == Role::reader) readers.push_back(node);

  const auto has_trained = [&](const Sample& sample) {
    return [&](std::size_t replica) { return records_of(sample, replica) > 0; };
  };
  // A replica that came later was not there to be waited for.
  const auto has_trained_or_comes = [&](const Sample& sample) {
    return [&](std::size_t replica) {
      return records_of(sample, replica) > 0 ||
             (replica < sample.nodes.size() && sample.nodes[replica].at > sample.at);
    };
  };
  // The last sample before all of these have nothing to do. Before the start everybody is idle.
  const auto end_of = [&](const std::vector<std::size_t>& who) {
    for (std::size_t i = 1; i < samples.size(); ++i)
      if (std::any_of(replicas.begin(), replicas.end(), has_trained(samples[i - 1])) &&
          idle_between(samples[i - 1], samples[i], who))
        return i - 1;
    return samples.size() - 1;
  };
  const auto stopped = end_of(replicas);
  const auto data_ended = std::min(stopped, end_of(readers));
  std::size_t begin = 0;
  while (begin < stopped &&
         (samples[begin].at < kWarmUp ||
          !std::all_of(replicas.begin(), replicas.end(), has_trained_or_comes(samples[begin]))))
    ++begin;
  const auto enough = [&](std::size_t end) {
    return end > begin && samples[end].at - samples[begin].at >= kLeast;
  };
  // Data that were all read at once may keep the replicas busy for long.
  window.data_ended = data_ended < stopped && enough(data_ended);
  window.end = window.data_ended ? data_ended : stopped;
  window.begin = begin;
  if (!enough(window.end)) {
    // Rather the whole run than nothing. One that never got to its first batch may be long.
    window.begin = 0;
    if (window.end == 0) window.end = samples.size() - 1;
    window.short_run = samples[window.end].at < 2 * kWarmUp;
  }
  return window;
}

}  // namespace troupe
