#include "troupe/actors/explain/observer.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/actors/explain/activity.h"
#include "troupe/actors/explain/process_threads.h"
#include "troupe/actors/training/progress.h"
#include "troupe/messages/tick.h"

namespace troupe {
namespace {

using Self = Observer::stateful_pointer<ObserverState>;
using OptionsPtr = std::shared_ptr<const ObserverOptions>;

constexpr std::size_t kMostSamples = 128;
constexpr std::chrono::seconds kFirst{2};
constexpr std::chrono::milliseconds kFirstInterval{250};

// ---- what is kept ----------------------------------------------------------------------------

void keep(ObserverState& s, Sample sample) {
  auto& kept = s.samples;
  if (kept.size() >= 2 && sample.at - kept[kept.size() - 2].at < s.spacing)
    kept.back() = std::move(sample);
  else
    kept.push_back(std::move(sample));
  if (kept.size() < kMostSamples) return;
  for (std::size_t i = 1; 2 * i < kept.size(); ++i) kept[i] = std::move(kept[2 * i]);
  kept.resize((kept.size() + 1) / 2);
  s.spacing = 2 * std::max<std::chrono::nanoseconds>(s.spacing, std::chrono::seconds(1));
}

// ---- standstill ------------------------------------------------------------------------------

bool moved(const Sample& before, const Sample& after) {
  constexpr double kWorks = 0.2;  // of a CPU; threads that look for work need some too
  const auto activity = activity_between(before, after);
  // What other programs keep from the CPU does not stand still.
  if (activity.cpu + activity.ready >= kWorks) return true;
  return std::any_of(activity.nodes.begin(), activity.nodes.end(), [](const auto& node) {
    constexpr double kNothing = 1e-6;
    return node.known && node.silent == 0 &&
           (node.records > 0 || node.growth != 0 || node.busy > kNothing);
  });
}

std::string seconds_text(std::chrono::nanoseconds time) {
  return text(std::chrono::duration_cast<std::chrono::seconds>(time).count(), " s");
}

/// Why nothing moves, in words.
std::string words_of(const Topology& topology, const Sample& now,
                     const std::vector<Stall>& stalls) {
  std::string words;
  for (const auto& stall : stalls) words += (words.empty() ? "" : "; ") + stall.message;
  for (std::size_t i = 0; i < now.nodes.size() && stalls.empty(); ++i)
    if (now.nodes[i].silent > std::chrono::seconds(1))
      words +=
          text(words.empty() ? "" : "; ", topology.nodes[i].name, " has been in the middle of ",
               topology.nodes[i].role == Role::reader ? "a read" : "something", " for ",
               seconds_text(now.nodes[i].silent));
  return words.empty() ? "every actor waits, but no cycle was found" : words;
}

void look_for_standstill(ObserverState& s, const ObserverOptions& options, const Sample& now) {
  if (!s.quiet_since || moved(*s.quiet_since, now)) {
    s.quiet_since = now;
    s.stalls.clear();
    s.told = false;
    return;
  }
  const auto quiet = now.at - s.quiet_since->at;
  if (s.told || quiet < options.stalled_after) return;
  s.told = true;
  s.stalls = find_stalls(s.topology, *s.quiet_since, now);
  if (options.stalled)
    options.stalled(text("nothing has moved for ", seconds_text(quiet), ": ",
                         words_of(s.topology, now, s.stalls)));
}

// ---- who is asked ----------------------------------------------------------------------------

StageStatus sum(const StageStatus& before, StageStatus now) {
  now.records += before.records;
  now.bytes += before.bytes;
  now.busy += before.busy;
  now.waiting_for_input += before.waiting_for_input;
  now.waiting_for_output += before.waiting_for_output;
  return now;
}

/// A copy has had all updates itself.
ShardStatus sum(const ShardStatus& before, ShardStatus now) {
  now.pulls += before.pulls;
  now.pushes += before.pushes;
  now.pulled_rows += before.pulled_rows;
  now.pushed_rows += before.pushed_rows;
  now.busy += before.busy;
  return now;
}

/// One actor's counters behind those of the one before it.
template <class Status>
Status sum(const Status&, Status now) {
  return now;
}

void take_place(ObserverState& s, std::size_t node, const caf::actor& actor) {
  if (s.actors[node] == actor) return;
  s.actors[node] = actor;
  s.gone[node] = false;
  s.before[node] = s.latest[node];
}

/// Of the kind that an actor of this role answers with.
decltype(NodeSample::status) nothing_done(Role role) {
  switch (role) {
    case Role::queue:
      return QueueStatus();
    case Role::shard:
      return ShardStatus();
    case Role::device:
      return DeviceStatus();
    default:
      return StageStatus();
  }
}

/// One more, of the role and the links of `like`; as if it had always been there and done nothing.
void add_node(ObserverState& s, const std::string& name, const caf::actor& actor, std::size_t like,
              std::chrono::nanoseconds now) {
  const auto node = s.topology.nodes.size();
  s.topology.nodes.push_back({name, s.topology.nodes[like].role});
  for (const auto& link : std::vector(s.topology.links)) {
    if (link.from == like) s.topology.links.push_back({node, link.to});
    if (link.to == like) s.topology.links.push_back({link.from, node});
  }
  const NodeSample nothing{now, {}, nothing_done(s.topology.nodes[like].role)};
  s.actors.push_back(actor);
  s.latest.push_back(nothing);
  s.before.emplace_back();
  s.asked.emplace_back();
  s.gone.push_back(false);
  for (auto& sample : s.samples) sample.nodes.push_back(nothing);
  if (s.quiet_since) s.quiet_since->nodes.push_back(nothing);
}

void assign(Self self, const std::string& name, const caf::actor& actor, const std::string& like) {
  auto& s = self->state;
  const auto& nodes = s.topology.nodes;
  const auto first = [&](const auto& is_it) {
    return static_cast<std::size_t>(std::find_if(nodes.begin(), nodes.end(), is_it) -
                                    nodes.begin());
  };
  const auto node = first([&](const auto& node) { return node.name == name; });
  const auto other = first([&](const auto& node) { return node.name.starts_with(like); });
  if (node < nodes.size())
    take_place(s, node, actor);
  else if (other < nodes.size())
    add_node(s, name, actor, other, self->clock().now() - s.begun);
}

/// The copy of a shard that has ended is asked from now on, once there is one.
void find_copy(Self self, const OptionsPtr& options, std::size_t node) {
  auto& s = self->state;
  if (!options->keeper || s.topology.nodes[node].role != Role::shard) return;
  const auto shards = s.topology.all(Role::shard);
  const auto index = std::find(shards.begin(), shards.end(), node) - shards.begin();
  self->request(options->keeper, caf::infinite, redirect_atom_v, static_cast<std::uint32_t>(index),
                s.actors[node].address())
      .then(
          [self, node](const Shard& copy) {
            take_place(self->state, node, caf::actor_cast<caf::actor>(copy));
          },
          [](const caf::error&) {});  // the run ends
}

// ---- rounds ----------------------------------------------------------------------------------

void end_round(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.in_round) return;
  s.in_round = false;
  const auto now = self->clock().now();
  Sample sample;
  sample.at = now - s.begun;
  sample.cpu = process_cpu_time();
  sample.threads = process_threads();
  sample.cores = schedulable_cores();
  sample.nodes = s.latest;
  for (std::size_t i = 0; i < s.latest.size(); ++i)
    if (s.asked[i]) sample.nodes[i].silent = now - *s.asked[i];
  look_for_standstill(s, *options, sample);
  keep(s, std::move(sample));
}

void end_waiting(Self self, const OptionsPtr& options, std::size_t node) {
  auto& s = self->state;
  s.asked[node].reset();
  if (s.missing > 0 && --s.missing == 0) end_round(self, options);
}

template <class Status>
void take(Self self, const OptionsPtr& options, std::size_t node, const Status& status) {
  auto& s = self->state;
  const auto* before = std::get_if<Status>(&s.before[node].status);
  s.latest[node].status = before ? sum(*before, status) : status;
  s.latest[node].at = self->clock().now() - s.begun;
  end_waiting(self, options, node);
}

void lose(Self self, const OptionsPtr& options, std::size_t node) {
  auto& s = self->state;
  s.gone[node] = true;
  end_waiting(self, options, node);
  find_copy(self, options, node);
}

template <class Status>
void ask(Self self, const OptionsPtr& options, std::size_t node) {
  const auto asked = self->state.actors[node];
  // What comes from one whose place was taken meanwhile only ends the waiting for it.
  self->request(asked, caf::infinite, status_atom_v)
      .then(
          [=](const Status& status) {
            if (self->state.actors[node] == asked) return take(self, options, node, status);
            end_waiting(self, options, node);
          },
          [=](const caf::error&) {
            if (self->state.actors[node] == asked) return lose(self, options, node);
            end_waiting(self, options, node);
          });
}

void begin_round(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  end_round(self, options);  // without those who have not answered
  s.in_round = true;
  s.missing = 0;
  for (std::size_t i = 0; i < s.actors.size(); ++i) {
    if (s.gone[i]) continue;
    ++s.missing;
    if (s.asked[i]) continue;
    s.asked[i] = self->clock().now();
    switch (s.topology.nodes[i].role) {
      case Role::queue:
        ask<QueueStatus>(self, options, i);
        break;
      case Role::shard:
        ask<ShardStatus>(self, options, i);
        break;
      case Role::device:
        ask<DeviceStatus>(self, options, i);
        break;
      default:
        ask<StageStatus>(self, options, i);
    }
  }
  if (s.missing == 0) end_round(self, options);
}

void on_time(Self self, const OptionsPtr& options) {
  const auto now = self->clock().now();
  const bool first = now - self->state.begun < kFirst;
  begin_round(self, options);
  tick_at(self, now + (first ? std::min(kFirstInterval, options->interval) : options->interval));
}

}  // namespace

Observer::behavior_type observer(Self self, ObserverOptions given) {
  auto& s = self->state;
  s.topology = std::move(given.topology);
  s.actors = std::exchange(given.actors, {});
  s.latest.resize(s.actors.size());
  s.before.resize(s.actors.size());
  s.asked.resize(s.actors.size());
  s.gone.resize(s.actors.size());
  const auto options = std::make_shared<const ObserverOptions>(std::move(given));
  on_tick(self, [self, options] { on_time(self, options); });
  return {
      [self, options](start_atom) {
        self->state.begun = self->clock().now();
        on_time(self, options);
        return caf::ok_atom_v;
      },
      [self](assign_atom, const std::string& name, const caf::actor& actor,
             const std::string& like) { assign(self, name, actor, like); },
      [self](status_atom) -> caf::result<ObservationsPtr> {
        const auto& s = self->state;
        return std::make_shared<const Observations>(Observations{s.topology, s.samples, s.stalls});
      },
  };
}

}  // namespace troupe
