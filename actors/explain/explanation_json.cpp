#include <unistd.h>

#include <nlohmann/json.hpp>

#include "troupe/actors/explain/explanation.h"
#include "troupe/actors/explain/process_threads.h"

namespace troupe {
namespace {

using Json = nlohmann::ordered_json;

Json stage_json(const NodeActivity& a) {
  return {{"records_per_second", a.records},
          {"bytes_per_second", a.bytes},
          {"busy", a.busy},
          {"waiting_for_input", a.waiting_in},
          {"waiting_for_output", a.waiting_out}};
}

Json queue_json(const NodeActivity& a) {
  return {{"records_per_second", a.records},  {"size", a.size},
          {"capacity", a.capacity},           {"floor", a.floor},
          {"blocked_on_empty", a.waiting_in}, {"blocked_on_full", a.waiting_out}};
}

Json shard_json(const NodeActivity& a) {
  return {{"updates_per_second", a.records},
          {"busy", a.busy},
          {"pushes_per_second", a.load.pushes},
          {"pulls_per_second", a.load.pulls},
          {"pushed_rows_per_second", a.load.pushed_rows},
          {"pulled_rows_per_second", a.load.pulled_rows},
          {"bytes", a.load.bytes},
          {"version", a.load.version},
          {"replicas", a.load.replicas},
          {"backups", a.load.backups}};
}

Json node_json(const Topology::Node& node, const NodeActivity& a) {
  Json json{{"name", node.name}, {"role", to_string(node.role)}};
  if (!a.known) return json;
  switch (node.role) {
    case Role::queue:
      json.update(queue_json(a));
      break;
    case Role::device:
    case Role::evaluator:
      json.update({{"per_second", a.records}, {"busy_cores", a.busy}});
      break;
    case Role::shard:
      json.update(shard_json(a));
      break;
    default:
      json.update(stage_json(a));
  }
  if (a.silent > 0) json["silent_seconds"] = a.silent;
  return json;
}

Json finding_json(const Finding& f, KnobStyle style) {
  auto advice = Json::array();
  for (const auto& a : f.advice)
    advice.push_back({{"knob", knob_name(a.knob, style)}, {"value", a.value}, {"why", a.why}});
  return {{"limit", to_string(f.limit)},
          {"actor", f.actor},
          {"busy", f.busy},
          {"cpus_busy", f.cpus_busy},
          {"cpus_taken", f.cpus_taken},
          {"evidence", f.evidence},
          {"advice", advice},
          {"remarks", f.remarks}};
}

}  // namespace

std::string to_json(const Explanation& e, KnobStyle style) {
  Json json{{"from_seconds", e.from},          {"to_seconds", e.to},
            {"short_run", e.short_run},        {"data_ended", e.data_ended},
            {"cpus", e.settings.cpus},         {"inter_op", e.settings.inter_op},
            {"intra_op", e.settings.intra_op}, {"busy_cores", e.activity.cpu},
            {"ready_cores", e.activity.ready}, {"finding", finding_json(e.finding, style)}};
  json["stalls"] = Json::array();
  for (const auto& stall : e.stalls) json["stalls"].push_back(stall.message);
  json["actors"] = Json::array();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < e.topology.nodes.size(); ++i) {
    json["actors"].push_back(node_json(e.topology.nodes[i], e.activity.nodes[i]));
    names.push_back(e.topology.nodes[i].name);
  }
  json["links"] = Json::array();
  for (const auto& link : e.topology.links)
    json["links"].push_back({e.topology.nodes[link.from].name, e.topology.nodes[link.to].name});
  json["threads"] = Json::array();
  for (const auto& thread : e.activity.threads)
    json["threads"].push_back(
        {{"id", thread.id},
         {"name", thread.name},
         {"owner", owner_of_thread(thread.name, thread.id == getpid(), names)},
         {"cpu", thread.cpu},
         {"ready", thread.ready}});
  json["machine_cores"] = Json::array();
  for (const auto& [id, share] : e.activity.cores)
    json["machine_cores"].push_back({{"cpu", id}, {"busy", share}});
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace troupe
