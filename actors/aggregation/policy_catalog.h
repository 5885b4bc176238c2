#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/aggregation/policy.h"
#include "troupe/actors/pipeline/option_map.h"

namespace troupe {

// Policies by name. A run says which one it wants as a text, and the text is all that is
// sent to coordinator and shards, wherever they are. A program adds its own policies with
// register_policy(), in every process that has shards; nothing registers itself.

/// Makes a policy from its options. Ask for all of them before anything is returned.
using PolicyMaker = std::function<std::unique_ptr<AggregationPolicy>(const OptionMap& options)>;

struct PolicyFormat {
  std::string name;     ///< "ssp"
  std::string summary;  ///< "replicas at most BOUND steps ahead of the slowest"
  PolicyMaker make;
  std::string first;  ///< the option that may be given without its name: "bound" of "ssp:2"
};

/// Adds a policy of the user's own; call it before anything is trained.
/// Throws already_exists when the name is taken.
void register_policy(const std::string& name, PolicyMaker make, const std::string& summary = {},
                     const std::string& first = {});

/// The policy that a text describes: a name, and after a colon its options, separated by
/// commas:
///
///   sync                       sync:backups=1           sync:quorum=3,backups=1
///   async                      async:staleness=drop:8   ssp:2,staleness=weight
///   local:8
///
/// Throws not_found with the names that there are, and invalid_argument for an option that
/// the policy does not know.
std::unique_ptr<AggregationPolicy> make_policy(const std::string& text);

/// All that there are, by name.
std::vector<PolicyFormat> policy_formats();

}  // namespace troupe
