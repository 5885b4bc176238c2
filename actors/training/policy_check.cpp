#include "troupe/actors/training/policy_check.h"

#include <utility>

#include "troupe/actors/aggregation/compression.h"
#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/aggregation/rounds.h"
#include "troupe/actors/allreduce/reduction.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

bool is_synchronous(const std::string& policy) {
  return policy == "sync" || policy.rfind("sync:", 0) == 0;
}

class PolicyCheck {
 public:
  PolicyCheck(const TrainingOptions& options, std::string policy, std::string table)
      : o_(options),
        a_(options.aggregation),
        policy_(std::move(policy)),
        table_(std::move(table)) {}

  std::vector<OptionProblem> problems() {
    const bool known = attempt("aggregation.policy", [&] { Rounds{rounds_with(policy_)}; });
    const bool local = known && make_policy(policy_)->local_steps() > 0;
    check_gradients(local);
    if (a_.all_reduce != "none") attempt("aggregation.all_reduce", [&] { check_all_reduce(); });
    if (!a_.groups.empty()) check_groups(known);
    if (a_.leave_out_late && a_.groups.empty() && a_.round_deadline.count() == 0)
      attempt("aggregation.leave_out_late", [] {
        fail(Code::invalid_argument,
             "no replica is late without a deadline: set aggregation.round_deadline, or leave "
             "aggregation.leave_out_late out");
      });
    return std::move(problems_);
  }

 private:
  template <class Work>
  bool attempt(const std::string& option, Work work, int group = -1) {
    try {
      work();
      return true;
    } catch (...) {
      problems_.push_back({option, group, to_error(current_fault())});
      return false;
    }
  }

  RoundsOptions rounds_with(const std::string& policy) const {
    RoundsOptions rounds;
    rounds.policy = policy;
    rounds.replicas = static_cast<std::size_t>(o_.replicas);
    rounds.deterministic = o_.deterministic;
    rounds.accumulate = a_.accumulate;
    rounds.table = table_;
    return rounds;
  }

  /// How they travel, and of which numbers they are made.
  void check_gradients(bool local) {
    attempt("aggregation.compression", [&] {
      const auto compression = GradientCompression::parse(a_.compression);
      if (local && compression.kind != CompressionKind::none)
        fail(Code::invalid_argument, "policy '", policy_,
             "' pushes weights, not gradients: aggregation.compression must be none");
    });
    attempt("precision", [&] {
      if (o_.precision != DType::float32 && o_.precision != DType::bfloat16 &&
          o_.precision != DType::float16)
        fail(Code::invalid_argument, "precision must be float32, bfloat16 or float16, but is ",
             o_.precision);
      if (local && o_.precision == DType::float16)
        fail(Code::invalid_argument, "policy '", policy_,
             "' makes updates where nobody looks at the loss scale: choose precision bfloat16");
    });
    attempt("loss_scale", [&] {
      LossScale{o_.loss_scale};
      if (o_.precision != DType::float16 && o_.loss_scale != LossScaleOptions())
        fail(Code::invalid_argument, "with precision ", o_.precision,
             " the loss is not scaled: choose precision float16, or leave loss_scale out");
    });
  }

  void check_all_reduce() const {
    parse_all_reduce(a_.all_reduce);
    if (!is_synchronous(policy_))
      fail(Code::invalid_argument,
           "an all-reduce adds up the gradients of all replicas, as policy "
           "sync does: policy '",
           policy_, "' needs shards (aggregation.all_reduce = none)");
    const auto expect = [](bool fits, const char* option, auto is, int must) {
      if (!fits)
        fail(Code::invalid_argument,
             "with aggregation.all_reduce every replica has all variables: ", option, " must be ",
             must, ", but is ", is);
    };
    expect(o_.shards <= 1, "shards", o_.shards, 1);
    expect(o_.backup_shards <= 0, "backup_shards", o_.backup_shards, 0);
    expect(o_.max_shard_bytes == 0, "max_shard_bytes", o_.max_shard_bytes, 0);
    if (!a_.groups.empty())
      fail(Code::invalid_argument,
           "with aggregation.all_reduce every shard has all variables: none can have a policy "
           "of its own (aggregation.groups)");
  }

  /// Groups must not disagree about what becomes of a set, nor about what a step is.
  static void expect_fits_groups(const std::string& given) {
    const auto policy = make_policy(given);
    if (policy->local_steps() > 0)
      fail(Code::invalid_argument, "policy '", given,
           "' pushes weights of all variables: there can be no others with policies of their own "
           "(aggregation.groups)");
    if (!policy->takes_every_set() || (!policy->whole_rounds() && !policy->single_sets()))
      fail(Code::invalid_argument, "policy '", given,
           "' may leave out a set that others take: where variables have policies of their own "
           "(aggregation.groups), every policy must take every set, as sync without backups and "
           "quorum, async and ssp do, with staleness keep or weight");
  }

  void check_groups(bool known) {
    if (known) attempt("aggregation.policy", [&] { expect_fits_groups(policy_); });
    for (std::size_t i = 0; i < a_.groups.size(); ++i)
      attempt(
          "aggregation.groups",
          [&] {
            Rounds{rounds_with(a_.groups[i].policy)};
            expect_fits_groups(a_.groups[i].policy);
          },
          static_cast<int>(i));
    const auto without = [&](const char* option, bool given, const char* why) {
      if (!given) return;
      const auto name = text("aggregation.", option);
      attempt(name, [&] {
        fail(Code::invalid_argument, why, ": leave ", name,
             " out, or give all variables one policy");
      });
    };
    without("clip_norm", a_.clip_norm > 0,
            "the norm of all gradients of an update is not known where variables have policies of "
            "their own, and so updates of their own (aggregation.groups)");
    without("leave_out_late", a_.leave_out_late,
            "where variables have policies of their own (aggregation.groups), no set is left out");
  }

  const TrainingOptions& o_;
  const AggregationOptions& a_;
  const std::string policy_;
  const std::string table_;
  std::vector<OptionProblem> problems_;
};

}  // namespace

std::vector<OptionProblem> policy_problems(const TrainingOptions& options,
                                           const std::string& policy, const std::string& table) {
  return PolicyCheck(options, policy, table).problems();
}

void expect_policy_fits(const TrainingOptions& options, const std::string& policy,
                        const std::string& table) {
  const auto problems = policy_problems(options, policy, table);
  if (!problems.empty()) throw problems.front().error;
}

bool all_reduces(const TrainingOptions& options) {
  return options.aggregation.all_reduce != "none";
}

}  // namespace troupe
