#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/policy.h"
#include "troupe/messages/payloads.h"

namespace troupe {

struct RoundsOptions {
  std::string policy = "sync";  ///< as make_policy() takes it
  std::size_t replicas = 1;     ///< that the run begins with: nobody starts before all have joined
  std::uint64_t max_steps = 0;  ///< updates, those before included; 0 for no end
  bool deterministic = false;   ///< the sets of a round in GradientCommit::order, not as they came
  std::uint32_t accumulate = 1;
  double clip_norm = 0;        ///< largest norm of all gradients of an update together; 0: any
  bool may_leave_out = false;  ///< replicas may be left_out(), whatever the policy
  std::string table;           ///< a variable of which replicas have only some rows; empty for none
  /// These are some of the variables, others have rounds of their own: replicas go on when
  /// somebody says so who looks at all of them, and no set may be refused here alone.
  bool is_group = false;
};

/// Who takes part in a run, which gradient sets are there, and what becomes of them:
/// the work of the coordinator, without the actor.
///
/// Whoever uses it tells what happens, and after that takes decisions from next() until
/// there is none. The decisions in that order are all that the shards ever hear, so that
/// after the same decisions they have the same version of the parameters.
///
/// It knows the last step of the run: no policy makes more updates than that, and where
/// each set is an update only as many steps are begun as are still to be made.
///
/// A copy keeps how things stood, to go back to.
class Rounds {
 public:
  /// Throws as make_policy() does, and invalid_argument when the policy cannot be had with
  /// so many replicas.
  explicit Rounds(RoundsOptions options);

  Version version() const { return version_; }
  void set_version(Version version) { version_ = version; }

  /// Counts, and the clocks that replicas have when they join, of a run that is gone on with.
  void restore(const AggregationStatus& status);

  /// A set that one of the same number left behind is given up: it cannot be told from what
  /// this one will bring.
  void join(std::uint32_t replica);
  void leave(std::uint32_t replica);
  /// The replica is lost, and another one will take its place. Where every update has a set
  /// of each replica, it is waited for; otherwise it is as if the replica had left.
  void lose(std::uint32_t replica);
  /// Nobody takes those places any more.
  void give_up_lost();
  bool takes_part(std::uint32_t replica) const;
  /// Some have joined, but not all that the run is to begin with.
  bool waits_for_start() const { return !started_ && !members_.empty(); }
  std::vector<std::uint32_t> not_joined() const;
  void start_anyway() { started_ = true; }

  /// A set that all shards have.
  void add(const GradientCommit& commit);
  /// A set that is no good.
  void refuse(const GradientCommit& commit, SetFate fate, Code code = Code::ok,
              std::string message = {});
  /// The sets of a replica on which nothing is decided, or that one, are not there any more: their
  /// batches are to be computed again.
  void give_up_sets(std::uint32_t replica, std::optional<std::uint64_t> step = {});
  /// Nothing is decided yet on that set, which all shards have.
  bool has(std::uint32_t replica, std::uint64_t step) const;
  /// The whole sets of a replica on which nothing is decided yet.
  std::vector<SettledSet> undecided(std::uint32_t replica) const;
  /// Whom others wait for, with their clocks.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> waited_for() const;
  /// Who waits for them.
  std::vector<std::uint32_t> waiting() const;
  void miss_deadline(std::uint32_t replica, bool leave_out);

  /// Another policy, as soon as no replica is in a step. Throws as the constructor.
  void change_policy(const std::string& policy);
  bool changes_policy() const { return next_policy_ != nullptr; }

  std::optional<RoundDecision> next();
  /// What replicas are told with a decision that is made now.
  Instructions instructions() const;

  /// Of a group: the replica waits, and would be let go on by next() if this were all.
  bool may_let_go(std::uint32_t replica) const;
  /// It goes on with the next decision, or has been told that there is no more to do.
  void let_go(std::uint32_t replica, bool finished);
  /// All updates of the run have been made, or there are to be no more.
  bool over() const {
    return stopped_ || (options_.max_steps > 0 && version_ >= options_.max_steps);
  }
  /// No more updates are made. Sets on which nothing is decided are given up: whoever goes on from
  /// here computes them anew.
  void stop() { stopped_ = true; }

  /// What the decisions since the last call mean for the batches of the sets.
  std::vector<SettledSet> take_settled() { return std::exchange(settled_, {}); }

  /// Those that have begun to compute what would be refused, each told once.
  std::vector<std::uint32_t> take_doomed();

  const AggregationPolicy& policy() const { return *policy_; }
  void count_clipped() { ++clipped_; }
  AggregationStatus status() const;

 private:
  struct Member {
    std::uint64_t clock = 0;
    Version version = 0;
    bool computing = false;
    bool late = false;
    bool doomed = false;    ///< has been told to give up
    bool finished = false;  ///< has been told that there is no more to do
    bool lost = false;      ///< there is nobody at the moment
  };
  struct Waiting {
    GradientCommit commit;
    double factor = 1;
  };

  std::uint64_t staleness(const GradientCommit& commit) const;
  std::shared_ptr<const AggregationPolicy> made(const std::string& policy) const;
  RoundView view() const;
  void settle(const GradientCommit& commit, SetFate fate);
  void refuse_stale(RoundDecision& decision);
  void take_round(RoundDecision& decision);
  void take_new_policy(RoundDecision& decision);
  void release(RoundDecision& decision);
  bool may_begin(std::uint32_t replica, const RoundView& view) const;

  RoundsOptions options_;
  bool stopped_ = false;
  std::string policy_text_;
  std::shared_ptr<const AggregationPolicy> policy_;
  std::string next_policy_text_;
  std::shared_ptr<const AggregationPolicy> next_policy_;
  Version version_ = 0;
  bool started_ = false;
  std::map<std::uint32_t, Member> members_;
  std::vector<Waiting> sets_;  ///< as they came
  std::vector<Refusal> refused_;
  std::vector<std::uint32_t> departed_;
  std::vector<std::uint32_t> let_go_;  ///< of a group, since the last decision
  std::vector<SettledSet> settled_;
  std::map<std::uint32_t, ReplicaStanding> standings_;
  std::map<std::uint32_t, std::uint64_t> clocks_;  ///< of those that have not joined again yet
  std::uint64_t updates_ = 0;
  std::uint64_t clipped_ = 0;
};

}  // namespace troupe
