#include <algorithm>

#include "troupe/actors/aggregation/aggregation_options.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// The names of a group, without the blanks around them.
std::vector<std::string> patterns_of(const std::string& variables) {
  std::vector<std::string> patterns;
  for (std::size_t begin = 0; begin <= variables.size();) {
    const auto end = std::min(variables.find(',', begin), variables.size());
    const auto first = variables.find_first_not_of(' ', begin);
    if (first < end) {
      const auto last = variables.find_last_not_of(' ', end - 1);
      patterns.push_back(variables.substr(first, last - first + 1));
    }
    begin = end + 1;
  }
  return patterns;
}

/// `*` stands for any letters.
bool matches(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  const auto rest = pattern.substr(star + 1);
  for (auto i = star; i <= name.size(); ++i)
    if (matches(rest, name.substr(i))) return true;
  return false;
}

std::string list(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string words;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    words += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMost ? words + ", ..." : words;
}

}  // namespace

PolicyGroup parse_policy_group(const std::string& given) {
  const auto equals = given.find('=');
  if (equals == std::string::npos || patterns_of(given.substr(0, equals)).empty() ||
      equals + 1 == given.size())
    fail(Code::invalid_argument, "a policy for some variables is NAMES=POLICY, such as ",
         "'embedding/*=async', but not '", given, "'");
  return {given.substr(0, equals), given.substr(equals + 1)};
}

std::vector<std::uint32_t> groups_of(const std::vector<std::string>& variables,
                                     const std::vector<PolicyGroup>& groups) {
  std::vector<std::uint32_t> group_of(variables.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto patterns = patterns_of(groups[g].variables);
    if (patterns.empty())
      fail(Code::invalid_argument, "policy '", groups[g].policy,
           "' is for some variables, but does not say which");
    for (const auto& pattern : patterns) {
      bool found = false;
      for (std::size_t i = 0; i < variables.size(); ++i) {
        if (!matches(pattern, variables[i])) continue;
        found = true;
        if (group_of[i] != 0 && group_of[i] != g + 1)
          fail(Code::invalid_argument, "variable '", variables[i], "' has two policies, by '",
               groups[group_of[i] - 1].variables, "' and by '", groups[g].variables, "'");
        group_of[i] = static_cast<std::uint32_t>(g + 1);
      }
      if (!found)
        fail(Code::invalid_argument, "policy '", groups[g].policy, "' is for '", pattern,
             "', but no variable is called so; there are: ", list(variables));
    }
  }
  if (!groups.empty() && std::find(group_of.begin(), group_of.end(), 0u) == group_of.end())
    fail(Code::invalid_argument, "every variable has a policy of its own: leave one group out, ",
         "and give its policy to the run");
  return group_of;
}

}  // namespace troupe
