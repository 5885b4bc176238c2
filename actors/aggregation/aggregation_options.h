#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What is done about a set with a value that is not finite.
enum class NotFinite : std::uint8_t {
  fail,    ///< it is the failure of its replica, which ends the run; the weights stay good
  skip,    ///< it is left out, and its batches are not computed again
  ignore,  ///< nothing is looked at
};

/// "fail", "skip", "ignore". Throws invalid_argument.
NotFinite parse_not_finite(std::string_view text);

/// Variables with a policy of their own.
struct PolicyGroup {
  /// Names, separated by commas; a `*` stands for any letters: "embedding/*, output/bias".
  std::string variables;
  std::string policy;
};

/// "embedding/*=async". Throws invalid_argument.
PolicyGroup parse_policy_group(const std::string& text);

/// The group of each variable: 0 for the run's policy, 1 for the first of `groups`. Throws
/// invalid_argument for names that no variable has, for a variable of two groups, and when no
/// variable is left for the run's policy.
std::vector<std::uint32_t> groups_of(const std::vector<std::string>& variables,
                                     const std::vector<PolicyGroup>& groups);

/// How the gradients of several replicas become updates.
struct AggregationOptions {
  /// A policy by name with its options, as make_policy() takes it: "sync",
  /// "sync:backups=1", "async", "ssp:2", "local:8".
  std::string policy = "sync";
  /// Variables that have another one. Steps, schedules of evaluations and checkpoints follow
  /// `policy`; all of them take every set ("sync", "async", "ssp"), and nothing is clipped.
  std::vector<PolicyGroup> groups = {};
  /// Batches of a replica that are one gradient set, as if they were one large batch.
  std::uint32_t accumulate = 1;
  /// The largest norm of all gradients of an update together, over all shards; what is
  /// longer is scaled down to it. 0: any length.
  double clip_norm = 0;
  NotFinite not_finite = NotFinite::fail;
  /// After it a replica that others wait for is named in an event; 0 for never.
  std::chrono::milliseconds round_deadline{0};
  /// A directory for a recording of what the course of the run depends on apart from what is
  /// computed: the order in which gradients arrive, and which replica gets which batch. Data are
  /// then in order. Empty for none.
  std::string record;
  /// The directory of a recording: the run goes as that one went, to the same bits. Its options
  /// must be the same, and it must have come to its end by itself.
  std::string replay;
  /// It is then not waited for any more, until it comes back.
  bool leave_out_late = false;
  /// "none", or what replicas do with gradients before they push them: "bfloat16", "float16",
  /// "topk:0.01", as GradientCompression::parse() takes it. Not for local steps.
  std::string compression = "none";
  /// "none": the shards share the variables, and each adds up all gradients of its own.
  /// "ring" or "tree": every replica has a shard of its own with all variables, and the
  /// shards add up gradients among themselves and make the same update. For "sync".
  std::string all_reduce = "none";
};

}  // namespace troupe
