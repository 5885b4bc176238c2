#include "troupe/actors/explain/process_threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;

std::chrono::nanoseconds of_ticks(std::uint64_t ticks) {
  static const auto per_second = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_CLK_TCK)));
  return std::chrono::nanoseconds(ticks * (1'000'000'000 / per_second));
}

/// "utime" and "stime" of a task's stat, whose second word may hold blanks.
std::chrono::nanoseconds cpu_of(const fs::path& task) {
  std::ifstream file(task / "stat");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string skipped;
  constexpr int kBeforeTimes = 11;
  for (int i = 0; i < kBeforeTimes; ++i) words >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  words >> user >> system;
  return of_ticks(user + system);
}

}  // namespace

std::vector<ThreadUse> process_threads() {
  std::vector<ThreadUse> threads;
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/self/task", error)) {
    ThreadUse thread;
    const auto number = task.path().filename().string();
    std::from_chars(number.data(), number.data() + number.size(), thread.id);
    std::ifstream name(task.path() / "comm");
    if (!std::getline(name, thread.name)) continue;  // it has ended
    std::uint64_t on_cpu = 0;
    std::uint64_t ready = 0;
    if (std::ifstream file(task.path() / "schedstat"); file >> on_cpu >> ready) {
      thread.cpu = std::chrono::nanoseconds(on_cpu);
      thread.ready = std::chrono::nanoseconds(ready);
    } else {
      thread.cpu = cpu_of(task.path());
    }
    threads.push_back(std::move(thread));
  }
  std::sort(threads.begin(), threads.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return threads;
}

std::vector<CoreUse> schedulable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {};
  std::vector<CoreUse> cores;
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    CoreUse core;
    // user nice system idle iowait irq softirq steal
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, soft = 0,
                  steal = 0;
    if (line.size() < 4 || line[3] == ' ') continue;  // all CPUs together
    words >> core.id >> user >> nice >> system >> idle >> iowait >> irq >> soft >> steal;
    if (!words || core.id < 0 || core.id >= CPU_SETSIZE || !CPU_ISSET(core.id, &set)) continue;
    core.busy = of_ticks(user + nice + system + irq + soft + steal);
    core.idle = of_ticks(idle + iowait);
    cores.push_back(core);
  }
  return cores;
}

std::string owner_of_thread(const std::string& name, bool main,
                            const std::vector<std::string>& actors) {
  constexpr std::size_t kMost = 15;  // of Linux
  if (main) return "the program's first thread: waits for the run, writes progress";
  // CAF 0.17 gives its workers this name.
  if (name == "caf.multiplexer") return "worker that actors run on (inter_op)";
  if (name == "caf.clock") return "timers of all actors";
  if (name == "caf.actor") return "CAF's printer, which has nothing to do";
  if (name.starts_with("troupe-cpu"))
    return "inside ops of device CPU:" + name.substr(10, name.find('-', 10) - 10) + " (intra_op)";
  if (name.starts_with("shards-")) return "inside updates of large variables, for all shards";
  for (const auto& actor : actors)
    if (actor.substr(0, kMost) == name) return "actor '" + actor + "', which blocks on files";
  return "unknown";
}

}  // namespace troupe
