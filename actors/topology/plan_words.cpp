#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>

#include "troupe/actors/topology/dot_words.h"
#include "troupe/actors/topology/topology_plan.h"

namespace troupe {
namespace {

using Plan = TopologyPlan;

/// "1.6 MiB".
std::string in_units(std::uint64_t bytes) {
  constexpr double kKibi = 1024;
  const auto value = static_cast<double>(bytes);
  char words[32];
  if (value < kKibi) return text(bytes, " B");
  if (value < kKibi * kKibi)
    std::snprintf(words, sizeof(words), "%.1f KiB", value / kKibi);
  else if (value < kKibi * kKibi * kKibi)
    std::snprintf(words, sizeof(words), "%.1f MiB", value / (kKibi * kKibi));
  else
    std::snprintf(words, sizeof(words), "%.2f GiB", value / (kKibi * kKibi * kKibi));
  return words;
}

std::string in_milliseconds(double seconds) {
  char words[32];
  std::snprintf(words, sizeof(words), "%.3g ms", 1000 * seconds);
  return words;
}

/// Lines of columns that stand below each other; numbers of the columns in `right` stand right.
class Table {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text(const std::vector<std::size_t>& right = {}) const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (widths.size() <= i) widths.push_back(0);
        widths[i] = std::max(widths[i], row[i].size());
      }
    std::string all;
    for (const auto& row : rows_) {
      std::string line = " ";
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string gap(widths[i] - row[i].size(), ' ');
        const bool to_the_right = std::find(right.begin(), right.end(), i) != right.end();
        line += ' ' + (to_the_right ? gap + row[i] : row[i] + gap) + ' ';
      }
      line.erase(line.find_last_not_of(' ') + 1);
      all += line + '\n';
    }
    return all;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string actor_table(const Plan& plan) {
  Table table;
  for (const auto& each : plan.actors)
    table.add(
        {text(each.count), each.name, each.bytes > 0 ? in_units(each.bytes) : "", each.detail});
  return table.text({0, 2});
}

std::string bound_table(const Plan& plan) {
  Table table;
  for (const auto& each : plan.actors)
    if (each.bytes > 0) table.add({each.name, in_units(each.bytes), each.holds});
  table.add({"all together", in_units(plan.bytes()), ""});
  return table.text({1});
}

std::string variable_table(const Plan& plan) {
  Table table;
  for (const auto& v : plan.variables)
    table.add({v.name, text(v.spec), in_units(v.bytes),
               v.home + (v.trainable ? "" : ", not trained"), v.why});
  return table.text({2});
}

std::string node_table(const Plan& plan) {
  Table table;
  for (const auto& n : plan.nodes)
    table.add(
        {text(n.count), n.count == 1 ? "node" : "nodes", "on " + n.device,
         n.why + (n.count == 1 ? " (" : ", such as ") + n.example + (n.count == 1 ? ")" : "")});
  return table.text({0});
}

std::string flow_table(const Plan& plan) {
  Table table;
  for (const auto& f : plan.flows)
    table.add({f.from + " -> " + f.to, f.what, f.bytes ? in_units(*f.bytes) : "varies",
               f.when == "once" ? f.when : "each " + f.when});
  return table.text({2});
}

std::string cost_table(const Plan& plan) {
  Table table;
  for (const auto& c : plan.costs) table.add({c.who, in_milliseconds(c.seconds), c.why});
  return table.text({1});
}

/// Broken into lines of about so many letters.
std::string wrapped(const std::string& words, std::size_t width = 30) {
  std::istringstream in(words);
  std::string line, all, word;
  while (in >> word) {
    // What has no blank, such as a path, is cut in front.
    if (word.size() > width) word = "..." + word.substr(word.size() - width + 3);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      all += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return all + line;
}

struct Look {
  const char* group;
  const char* fill;
  const char* line;
};
constexpr Look kLooks[] = {
    {"data", "#e8f1fa", "#3b78b5"},       {"queries", "#e8f1fa", "#3b78b5"},
    {"training", "#fdf0e1", "#c9781c"},   {"ensemble", "#fdf0e1", "#c9781c"},
    {"parameters", "#e9f5e6", "#4a934a"}, {"members", "#e9f5e6", "#4a934a"},
    {"results", "#f2ecf7", "#7d5ba6"},    {"evaluation data", "#f2ecf7", "#7d5ba6"},
};

constexpr std::string_view kShard = "shard ";
constexpr std::string_view kCopies = "copies of shard ";

/// "shard 0" for every shard, "copies of shard 0" for all copies, and others as they are.
std::string first_of_its_kind(const std::string& id) {
  for (const auto kind : {kShard, kCopies})
    if (id.starts_with(kind)) return std::string(kind) + "0";
  return id;
}

/// The plan with many shards drawn as one: nobody can read a picture of thirty.
Plan with_few_shards(const Plan& given) {
  constexpr auto kMostShards = 4;
  const auto count = std::count_if(given.actors.begin(), given.actors.end(),
                                   [](const auto& each) { return each.id.starts_with(kShard); });
  if (count <= kMostShards) return given;
  auto plan = given;
  plan.actors.clear();
  std::map<std::string, std::size_t> drawn;
  for (auto each : given.actors) {
    each.id = first_of_its_kind(each.id);
    const auto [at, first] = drawn.emplace(each.id, plan.actors.size());
    if (!first) {
      plan.actors[at->second].count += each.count;
      plan.actors[at->second].bytes += each.bytes;
      continue;
    }
    if (each.id.starts_with(kShard)) {
      each.name = "shards";
      each.detail = text(given.variables.size(), " variables");
    } else if (each.id.starts_with(kCopies)) {
      each.name = "copies of shards";
    }
    plan.actors.push_back(each);
  }
  plan.flows.clear();
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> known;
  for (auto flow : given.flows) {
    for (auto* end : {&flow.from, &flow.to}) *end = first_of_its_kind(*end);
    const auto [at, added] =
        known.emplace(std::tuple(flow.from, flow.to, flow.what), plan.flows.size());
    if (added)
      plan.flows.push_back(flow);
    else if (auto& sum = plan.flows[at->second].bytes; sum && flow.bytes)
      *sum += *flow.bytes;
  }
  return plan;
}

}  // namespace

std::string dot_quoted(const std::string& words) {
  std::string made = "\"";
  for (const char c : words) {
    if (c == '"' || c == '\\') made += '\\';
    if (c == '\n')
      made += "\\n";
    else if (static_cast<unsigned char>(c) >= ' ')
      made += c;
  }
  return made + '"';
}

std::string describe(const TopologyPlan& plan, bool explain) {
  std::ostringstream out;
  out << plan.title << "\n"
      << plan.data << "\n\nactors, and what they hold at most\n"
      << actor_table(plan) << "  in all " << in_units(plan.bytes()) << ", " << plan.threads()
      << (plan.threads() == 1 ? " thread" : " threads") << " on " << plan.cpus
      << (plan.cpus == 1 ? " CPU: " : " CPUs: ") << plan.inter_op << " for actors (inter_op), "
      << plan.intra_op << " inside an op (intra_op), the others for files\n";
  if (explain) {
    out << "\nbounds in bytes\n" << bound_table(plan);
    out << "\nvariables: where they live, and why\n" << variable_table(plan);
    if (!plan.nodes.empty())
      out << "\nnodes of the graph: where they run, and why\n" << node_table(plan);
    out << "\nwhat goes from each to each\n" << flow_table(plan);
    if (!plan.costs.empty())
      out << "\nwhat a step takes, as a guess (troupe plan --measure knows)\n" << cost_table(plan);
  }
  if (!plan.note.empty()) out << '\n' << plan.note << '\n';
  if (!plan.costs.empty()) {
    const auto& first = plan.costs.front();
    out << "\npredicted bottleneck: " << first.who << ", " << in_milliseconds(first.seconds)
        << " a step (" << first.why << ")";
    if (plan.costs.size() > 1)
      out << "; next: " << plan.costs[1].who << ", " << in_milliseconds(plan.costs[1].seconds);
    out << '\n';
  }
  return out.str();
}

std::string to_dot(const TopologyPlan& given) {
  const auto plan = with_few_shards(given);
  std::ostringstream out;
  out << "digraph topology {\n"
      << "  graph [rankdir=" << (plan.top_down ? "TB" : "LR")
      << ", fontname=\"Helvetica\", fontsize=15, labelloc=t, nodesep=0.35, "
         "ranksep=0.9, pad=0.3, label="
      << dot_quoted(plan.title) << "];\n"
      << "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11, "
         "margin=\"0.15,0.08\"];\n"
      << "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#606060\", fontcolor=\"#404040\", "
         "arrowsize=0.7];\n";
  int cluster = 0;
  for (const auto& look : kLooks) {
    const auto in_group = [&](const auto& each) { return each.group == look.group; };
    if (std::none_of(plan.actors.begin(), plan.actors.end(), in_group)) continue;
    out << "  subgraph cluster_" << cluster++ << " {\n    label=" << dot_quoted(look.group)
        << "; fontname=\"Helvetica\"; fontsize=12; fontcolor=\"" << look.line << "\"; color=\""
        << look.line << "\"; style=\"rounded\"; margin=14;\n";
    for (const auto& each : plan.actors) {
      if (!in_group(each)) continue;
      auto label = (each.count == 1 ? "" : text(each.count, " x ")) + each.name;
      if (!each.detail.empty()) label += '\n' + wrapped(each.detail);
      if (each.bytes > 0) label += "\nat most " + in_units(each.bytes);
      out << "    " << dot_quoted(each.id) << " [label=" << dot_quoted(label) << ", fillcolor=\""
          << look.fill << "\", color=\"" << look.line << '"'
          << (each.count > 1 ? ", peripheries=2" : "") << "];\n";
    }
    out << "  }\n";
  }
  for (const auto& flow : plan.flows) {
    auto label = flow.what;
    if (flow.bytes) label += '\n' + in_units(*flow.bytes) + " / " + flow.when;
    // What goes against the stream must not turn the picture round.
    const bool back = flow.to == "replica" && flow.from.starts_with("shard");
    const bool dashed = flow.to.starts_with(kCopies) || flow.to == "coordinator" ||
                        flow.to == "checkpointer" || flow.to == "evaluator" ||
                        flow.to == "summary writer";
    out << "  " << dot_quoted(flow.from) << " -> " << dot_quoted(flow.to)
        << " [label=" << dot_quoted(label)
        << (back || (flow.what == "gradients" && flow.to.starts_with("stage"))
                ? ", constraint=false"
                : "")
        << (dashed ? ", style=dashed" : "") << "];\n";
  }
  out << "}\n";
  return out.str();
}

}  // namespace troupe
