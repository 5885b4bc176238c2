#include "troupe/actors/explain/explanation.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "troupe/actors/explain/process_threads.h"

namespace troupe {
namespace {

double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// `words` in lines of at most `width`, the second and later ones behind `indent` blanks.
std::string wrapped(const std::string& words, std::size_t indent, std::size_t width = 100) {
  std::string lines;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < words.size();) {
    const auto end = std::min(words.find(' ', begin), words.size());
    const auto length = end - begin;
    if (column > indent && column + 1 + length > width) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines.append(words, begin, length);
    column += length;
    begin = end + 1;
  }
  return lines;
}

std::string labelled(const std::string& label, const std::string& words) {
  constexpr std::size_t kIndent = 8;
  return label + std::string(kIndent - label.size(), ' ') + wrapped(words, kIndent) + "\n";
}

/// In the order of the data; those of an evaluation set come last.
std::vector<std::size_t> table_order(const Topology& topology) {
  const auto path = data_path(topology);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) order.push_back(i);
  const auto place = [&](std::size_t node) {
    const auto role = topology.nodes[node].role;
    const bool aside =
        role < Role::replica && std::find(path.begin(), path.end(), node) == path.end();
    return std::pair(aside, role);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  return order;
}

std::string state_of_cpus(const Explanation& e) {
  if (e.finding.cpus_taken) return " (other programs have the CPUs)";
  if (!e.finding.cpus_busy) return "";
  return e.settings.cpus == 1 ? " (the CPU is busy)"
                              : text(" (all ", e.settings.cpus, " CPUs are busy)");
}

std::string percent(double share) { return text(std::lround(100 * share), " %"); }

std::string fixed(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f", number);
  return buffer;
}

struct Cells {
  std::string name, records, megabytes, busy, waits_in, waits_out, remark;
};

std::string row(const Cells& c) {
  char line[256];
  std::snprintf(line, sizeof line, "%-26s %12s %8s %7s %9s %10s", c.name.c_str(), c.records.c_str(),
                c.megabytes.c_str(), c.busy.c_str(), c.waits_in.c_str(), c.waits_out.c_str());
  auto words = line + c.remark;
  words.erase(words.find_last_not_of(' ') + 1);
  return words + '\n';
}

/// "   18 pushes/s; rows/s: 300 pulled, 280 pushed; 1 copy in step".
std::string words_of(const ShardLoad& load) {
  const auto whole = [](double number) { return std::llround(number); };
  auto words = text("   ", whole(load.pushes), " pushes/s");
  if (load.pulls > 0) words += text(", ", whole(load.pulls), " pulls/s");
  if (load.pulled_rows + load.pushed_rows > 0)
    words += text("; rows/s: ", whole(load.pulled_rows), " pulled, ", whole(load.pushed_rows),
                  " pushed");
  if (load.backups > 0)
    words += text("; ", load.backups, load.backups == 1 ? " copy" : " copies", " in step");
  return words;
}

Cells cells(const Topology::Node& node, const NodeActivity& a) {
  Cells c;
  c.name = node.name;
  if (!a.known) {
    c.records = "no answer";
    return c;
  }
  c.records = text(std::llround(a.records));
  if (a.bytes > 0) c.megabytes = text(std::llround(a.bytes / 1e5) / 10.0);
  switch (node.role) {
    case Role::device:
    case Role::evaluator:
      c.busy = fixed(a.busy) + " c";
      break;
    case Role::shard:
      c.busy = percent(a.busy);
      c.remark = words_of(a.load);
      break;
    case Role::queue:
      c.remark = a.capacity > 0 ? text("   ", a.size, " of ", a.capacity) : text("   ", a.size);
      if (a.floor > 0) c.remark += text(", ", a.floor, " stay");
      c.waits_in = percent(a.waiting_in);
      c.waits_out = percent(a.waiting_out);
      break;
    default:
      c.busy = percent(a.busy);
      c.waits_in = percent(a.waiting_in);
      c.waits_out = percent(a.waiting_out);
  }
  return c;
}

/// What stands between the name of a knob and its value.
const char* between(KnobStyle style) {
  if (style == KnobStyle::flags) return " ";
  return style == KnobStyle::options ? " = " : "=";
}

}  // namespace

Explanation explain(const Observations& observations, const RunSettings& settings) {
  Explanation e;
  e.topology = observations.topology;
  e.settings = settings;
  e.stalls = observations.stalls;
  const auto& samples = observations.samples;
  const auto window = steady_window(e.topology, samples);
  e.short_run = window.short_run;
  e.data_ended = window.data_ended;
  if (window.begin < window.end) {
    const auto& begin = samples[window.begin];
    const auto& end = samples[window.end];
    e.from = in_seconds(begin.at);
    e.to = in_seconds(end.at);
    e.activity = activity_between(begin, end);
  } else {
    e.activity.nodes.resize(e.topology.nodes.size());
  }
  e.finding = find_bottleneck(e.topology, settings, e.activity);
  return e;
}

std::string summary(const Explanation& e, KnobStyle style) {
  const auto& f = e.finding;
  std::string lines;
  if (f.limit == Limit::unknown) {
    lines += labelled("limit:", f.evidence.empty() ? "the run was too short to say what limits it"
                                                   : "not clear: " + f.evidence);
  } else {
    const auto who = f.actor.empty() ? std::string(to_string(f.limit)) : f.actor;
    lines += labelled("limit:", text(who, state_of_cpus(e), ": ", f.evidence));
  }
  for (const auto& stall : e.stalls) lines += labelled("stuck:", stall.message);
  std::size_t told = 0;
  for (const auto& advice : f.advice) {
    constexpr std::size_t kMost = 2;
    if (told++ == kMost) break;
    auto words = knob_name(advice.knob, style);
    if (!words.empty() && !advice.value.empty()) words += between(style) + advice.value;
    if (!words.empty()) words += ": ";
    lines += labelled(told == 1 ? "faster:" : "or:", words + advice.why);
  }
  for (const auto& remark : f.remarks) lines += labelled("also:", remark);
  if (e.short_run && f.limit != Limit::unknown)
    lines += labelled("note:", "the run was too short to be sure, its beginning is included");
  return lines;
}

std::string activity_table(const Explanation& e) {
  const auto tenths = [](double number) { return std::llround(10 * number) / 10.0; };
  auto lines = row({text(tenths(e.from), " to ", tenths(e.to), " s of the run"), "records/s",
                    "MB/s", "busy", "waits in", "waits out", ""});
  for (const auto i : table_order(e.topology))
    lines += row(cells(e.topology.nodes[i], e.activity.nodes[i]));
  lines += text("CPU of this process: ", fixed(e.activity.cpu), " of ", e.settings.cpus);
  if (!e.activity.cores.empty()) lines += "; of the machine:";
  for (const auto& [id, share] : e.activity.cores) lines += text("  cpu", id, " ", percent(share));
  return lines + '\n';
}

std::string thread_table(const Explanation& e) {
  std::vector<std::string> actors;
  for (const auto& node : e.topology.nodes) actors.push_back(node.name);
  char line[256];
  std::snprintf(line, sizeof line, "%-8s %-16s %6s  %s\n", "thread", "name", "CPU", "owner");
  std::string lines = line;
  for (const auto& thread : e.activity.threads) {
    std::snprintf(line, sizeof line, "%-8d %-16s %6s  ", thread.id, thread.name.c_str(),
                  percent(thread.cpu).c_str());
    lines += line + owner_of_thread(thread.name, thread.id == getpid(), actors) + '\n';
  }
  return lines + text(e.activity.threads.size(), " threads; inter_op ", e.settings.inter_op,
                      ", intra_op ", e.settings.intra_op, ", ", e.settings.cpus,
                      e.settings.cpus == 1 ? " CPU\n" : " CPUs\n");
}

}  // namespace troupe
