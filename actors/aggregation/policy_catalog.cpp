#include "troupe/actors/aggregation/policy_catalog.h"

#include <map>
#include <mutex>

#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::int64_t kMostReplicas = 1024;
constexpr std::int64_t kMostSteps = 1'000'000;

StalenessRule staleness(const OptionMap& options) {
  return parse_staleness(options.text("staleness", "keep"));
}

std::vector<PolicyFormat> builtin_policies() {
  std::vector<PolicyFormat> all;
  all.push_back({"sync", "one update with the mean gradient of all replicas, or of a quorum",
                 [](const OptionMap& options) -> std::unique_ptr<AggregationPolicy> {
                   SyncRules rules;
                   rules.quorum =
                       static_cast<std::size_t>(options.integer("quorum", 0, 0, kMostReplicas));
                   rules.backups =
                       static_cast<std::size_t>(options.integer("backups", 0, 0, kMostReplicas));
                   return std::make_unique<SyncPolicy>(rules);
                 },
                 "quorum"});
  all.push_back({"async", "each replica updates on its own",
                 [](const OptionMap& options) -> std::unique_ptr<AggregationPolicy> {
                   return std::make_unique<AsyncPolicy>(staleness(options));
                 },
                 ""});
  all.push_back({"ssp", "asynchronous, but nobody more than BOUND steps ahead of the slowest",
                 [](const OptionMap& options) -> std::unique_ptr<AggregationPolicy> {
                   const auto bound = options.integer("bound", 0, kMostSteps);
                   const auto rule = staleness(options);
                   if (bound == 0) return std::make_unique<SyncPolicy>();
                   return std::make_unique<SspPolicy>(static_cast<std::uint64_t>(bound), rule);
                 },
                 "bound"});
  all.push_back({"local", "each replica makes STEPS steps of its own, then all take the mean",
                 [](const OptionMap& options) -> std::unique_ptr<AggregationPolicy> {
                   const auto steps = options.integer("steps", 1, kMostSteps);
                   return std::make_unique<LocalPolicy>(static_cast<std::uint32_t>(steps));
                 },
                 "steps"});
  return all;
}

class Catalog {
 public:
  Catalog() {
    for (auto& format : builtin_policies()) add(std::move(format));
  }

  void add(PolicyFormat format) {
    const auto name = format.name;
    if (name.empty() || name.find_first_of(":,= ") != std::string::npos || !format.make)
      fail(Code::invalid_argument,
           "a policy is registered with a function and a name without blanks, colons, commas and "
           "equal signs, but not '",
           name, "'");
    const std::lock_guard guard(mutex_);
    if (!formats_.emplace(name, std::move(format)).second)
      fail(Code::already_exists, "a policy called '", name, "' is already registered");
  }
  PolicyFormat find(const std::string& name) const {
    const std::lock_guard guard(mutex_);
    const auto found = formats_.find(name);
    if (found != formats_.end()) return found->second;
    std::string known;
    for (const auto& [other, format] : formats_) known += (known.empty() ? "" : ", ") + other;
    fail(Code::not_found, "no policy is called '", name, "'; there are: ", known);
  }
  std::vector<PolicyFormat> all() const {
    const std::lock_guard guard(mutex_);
    std::vector<PolicyFormat> formats;
    for (const auto& [name, format] : formats_) formats.push_back(format);
    return formats;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, PolicyFormat> formats_;
};

Catalog& catalog() {
  static Catalog all;
  return all;
}

/// "quorum=3,backups=1" or "2,staleness=weight".
OptionMap parse_options(const PolicyFormat& format, const std::string& given) {
  OptionMap options;
  options.set_owner(text("policy '", format.name, "'"));
  std::size_t begin = 0;
  while (begin < given.size()) {
    const auto end = std::min(given.find(',', begin), given.size());
    const auto option = given.substr(begin, end - begin);
    const auto equals = option.find('=');
    if (equals != std::string::npos)
      options.add(option.substr(0, equals), option.substr(equals + 1));
    else if (begin == 0 && !format.first.empty())
      options.add(format.first, option);
    else
      fail(Code::invalid_argument, "policy '", format.name, "': '", option,
           "' is no option; options look like name=value");
    begin = end + 1;
  }
  return options;
}

}  // namespace

void register_policy(const std::string& name, PolicyMaker make, const std::string& summary,
                     const std::string& first) {
  catalog().add({name, summary, std::move(make), first});
}

std::unique_ptr<AggregationPolicy> make_policy(const std::string& given) {
  const auto colon = std::min(given.find(':'), given.size());
  const auto format = catalog().find(given.substr(0, colon));
  const auto options =
      parse_options(format, colon < given.size() ? given.substr(colon + 1) : std::string());
  auto policy = format.make(options);
  options.expect_all_known();
  if (!policy)
    fail(Code::internal, "the function that makes policy '", format.name, "' returned none");
  return policy;
}

std::vector<PolicyFormat> policy_formats() { return catalog().all(); }

}  // namespace troupe
