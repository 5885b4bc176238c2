#include "troupe/actors/aggregation/arriving_sets.h"

namespace troupe {
namespace {

bool complains(const SetReport& report) {
  return report.code != Code::ok || !report.not_finite.empty();
}

}  // namespace

std::optional<ArrivingSets::Whole> ArrivingSets::add(const SetReport& report, std::uint32_t group,
                                                     std::size_t shards) {
  const auto& commit = report.commit;
  const auto last = whole_.find(commit.replica);
  if (last != whole_.end() && commit.step <= last->second) return std::nullopt;
  const std::pair key(commit.replica, commit.step);
  auto& [here, set] = arriving_[key];
  // That of the first shard, whatever came first.
  if (here.empty() ||
      (complains(report) && (!complains(set.worst) || report.shard < set.worst.shard)))
    set.worst = report;
  here.insert(report.shard);
  set.versions[group] = commit.version;
  if (here.size() < shards) return std::nullopt;
  whole_[commit.replica] = commit.step;
  return std::move(arriving_.extract(key).mapped().set);
}

std::vector<GradientCommit> ArrivingSets::forget(std::uint32_t replica) {
  whole_.erase(replica);
  std::vector<GradientCommit> commits;
  std::erase_if(arriving_, [&](const auto& one) {
    if (one.first.first != replica) return false;
    commits.push_back(one.second.set.worst.commit);
    return true;
  });
  return commits;
}

}  // namespace troupe
