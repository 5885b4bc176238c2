#include "troupe/actors/aggregation/aggregation_summary.h"

#include <numeric>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// "0: 120, 1: 97, 2 to 3: 5": single values up to 1, then ranges that double.
std::string histogram(const std::vector<std::uint64_t>& counts) {
  std::string words;
  for (std::size_t begin = 0, width = 1; begin < counts.size(); begin += width) {
    width = begin < 2 ? 1 : begin;
    const auto end = std::min(begin + width, counts.size());
    const auto from = counts.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = counts.begin() + static_cast<std::ptrdiff_t>(end);
    const auto sum = std::accumulate(from, to, std::uint64_t{0});
    if (sum == 0) continue;
    const auto last = begin + width - 1;
    words += text(words.empty() ? "" : ", ", begin);
    if (end == counts.size() && end == StalenessCounts::kMost + 1)
      words += " or more";
    else if (last > begin)
      words += text(" to ", last);
    words += text(": ", sum);
  }
  return words;
}

/// "ssp:2, 300 updates", and a line for each replica.
std::string words_of(const AggregationStatus& status, bool& remarkable) {
  std::string lines;
  for (const auto& r : status.replicas) {
    std::string what;
    const auto add = [&what](std::uint64_t count, const char* one, const char* many) {
      if (count == 0) return;
      what += text(what.empty() ? "" : ", ", count, ' ', count == 1 ? one : many);
    };
    add(r.stale, "set too late", "sets too late");
    add(r.skipped, "set not finite", "sets not finite");
    add(r.late, "deadline missed", "deadlines missed");
    remarkable = remarkable || !what.empty();
    // Not its clock: one that joins late has that of the slowest.
    const auto& counts = r.staleness.counts;
    const auto applied = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    const auto staleness = histogram(counts);
    lines += text("  replica ", r.replica, ": ", applied, applied == 1 ? " set" : " sets",
                  " applied", staleness.empty() ? "" : "; staleness ", staleness,
                  what.empty() ? "" : "; ", what, '\n');
  }
  return text(status.policy, ", ", status.updates, status.updates == 1 ? " update" : " updates",
              status.clipped > 0 ? text(", ", status.clipped, " clipped") : std::string(), '\n',
              lines);
}

}  // namespace

std::string aggregation_summary(const AggregationStatus& status) {
  bool remarkable = status.replicas.size() > 1 || status.clipped > 0 || !status.groups.empty();
  auto lines = text("policy:     ", words_of(status, remarkable));
  for (const auto& group : status.groups)
    lines += text("policy of ", group.variables, ": ", words_of(group, remarkable));
  return remarkable ? lines : std::string();
}

}  // namespace troupe
