#include "troupe/actors/aggregation/builtin_policies.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "troupe/ops/error.h"

namespace troupe {

// ---- staleness -------------------------------------------------------------------------------

Admission StalenessRule::admit(std::uint64_t staleness) const {
  switch (kind) {
    case Kind::keep:
      break;
    case Kind::drop:
      return {staleness <= most, 1};
    case Kind::weight:
      return {true, 1 / (1 + static_cast<double>(staleness))};
  }
  return {};
}

StalenessRule parse_staleness(std::string_view given) {
  using Kind = StalenessRule::Kind;
  if (given == "keep") return {};
  if (given == "weight") return {Kind::weight};
  constexpr std::string_view kDrop = "drop:";
  if (given.substr(0, kDrop.size()) == kDrop) {
    StalenessRule rule{Kind::drop};
    const auto* begin = given.data() + kDrop.size();
    const auto* end = given.data() + given.size();
    const auto [stop, error] = std::from_chars(begin, end, rule.most);
    if (error == std::errc() && stop == end) return rule;
  }
  fail(Code::invalid_argument, "a staleness rule is 'keep', 'drop:N' (those that more than N ",
       "updates were made since) or 'weight' (multiplied with 1 / (1 + staleness)), but not '",
       given, "'");
}

// ---- sync ------------------------------------------------------------------------------------

Admission SyncPolicy::admit(const SetInfo& set, const RoundView& view) const {
  return {set.version >= view.version, 1};
}

std::optional<Round> SyncPolicy::round(const RoundView& view) const {
  if (view.sets.empty()) return std::nullopt;
  const auto live = view.live();
  auto needed = live - std::min(live, rules_.backups);
  if (rules_.quorum > 0) needed = std::min(rules_.quorum, live);
  needed = std::max<std::size_t>(needed, live > 0 ? 1 : 0);
  std::size_t here = 0;
  for (const auto& m : view.members)
    if (!m.late && view.has_set(m.replica)) ++here;
  if (several(view) && live > 0) {
    needed = rules_.quorum;
    here = view.sets.size();
  }
  if (here < needed) return std::nullopt;
  Round all(view.sets.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

void SyncPolicy::expect_fits(std::size_t replicas) const {
  const auto [quorum, backups] = rules_;
  if (backups > 0 && quorum > 0 && quorum + backups != replicas)
    fail(Code::invalid_argument, "policy 'sync': a quorum of ", quorum, " and ", backups,
         " backups make ", quorum + backups, " replicas, but there are ", replicas);
  if (backups >= replicas)
    fail(Code::invalid_argument, "policy 'sync': ", backups, " backups of ", replicas,
         replicas == 1 ? " replica leave" : " replicas leave", " nobody to wait for");
}

bool SyncPolicy::may_go_on(const MemberInfo& member, const RoundView& view) const {
  if (!view.has_set(member.replica)) return true;
  if (!several(view)) return false;
  const auto coming = std::count_if(view.members.begin(), view.members.end(),
                                    [](const auto& m) { return m.computing && !m.late; });
  return view.sets.size() + static_cast<std::size_t>(coming) < rules_.quorum;
}

// ---- async, ssp ------------------------------------------------------------------------------

Admission AsyncPolicy::admit(const SetInfo& set, const RoundView& view) const {
  return rule_.admit(view.version - std::min(view.version, set.version));
}

std::optional<Round> AsyncPolicy::round(const RoundView& view) const {
  if (view.sets.empty()) return std::nullopt;
  return Round{0};
}

bool SspPolicy::may_go_on(const MemberInfo& member, const RoundView& view) const {
  return member.clock <= view.slowest(member.clock) + bound_;
}

}  // namespace troupe
