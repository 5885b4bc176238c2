#pragma once

#include <caf/actor_clock.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/ensemble/combiner.h"
#include "troupe/messages/ensemble.h"

namespace troupe {

struct EnsembleOptions {
  std::string name = "ensemble";  ///< for messages
  Combiner combiner = mean_combiner();
  /// Members whose answers make a complete answer; 0 for all that there are when the query comes.
  std::int64_t quorum = 0;
  /// After this time those that have answered are enough, if they are a quorum. Until then the
  /// ensemble waits for everybody who may still answer.
  Timeout deadline = kForever;
  /// Answer as soon as there is a quorum, and count everybody else as late.
  bool first_quorum = false;
  /// Queries that a member may have left to answer; it is not asked more than that.
  std::int64_t max_outstanding = 8;
};

/// Throws invalid_argument, naming the ensemble, for options that make no sense.
void validate(const EnsembleOptions& options);

class EnsembleState {
 public:
  static constexpr const char* name = "troupe.ensemble";

  explicit EnsembleState(Ensemble::pointer self) : self_(self) {}

  void start(EnsembleOptions options);
  caf::result<EnsembleAnswer> run(const TensorList& inputs);
  caf::ok_atom join(const std::string& name, const Member& member, double weight);
  caf::result<caf::ok_atom> leave(const std::string& name);
  caf::result<caf::ok_atom> assign(const std::string& name, const Parameters& weights);
  EnsembleStatus status() const;

  void expire();
  void lose(const caf::down_msg& down);

 private:
  using MemberId = std::uint64_t;  // in the order of joining
  using QueryId = std::uint64_t;

  struct Seat {
    Member actor;
    MemberStatus status;
    bool left = false;  // answers what it has been asked, gets nothing new
    caf::typed_response_promise<caf::ok_atom> farewell;  // of who asked it to leave
  };
  struct Query {
    caf::typed_response_promise<EnsembleAnswer> promise;
    std::int64_t quorum = 0;
    caf::actor_clock::time_point deadline = caf::actor_clock::time_point::max();
    std::map<MemberId, std::string> pending;  // who may still answer, by name
    std::map<MemberId, MemberAnswer> answers;
    std::vector<std::string> missing;
    caf::error first_failure;
  };

  std::map<MemberId, Seat>::iterator seat_of(const std::string& name);
  void ask(QueryId id, MemberId member, const TensorList& inputs);
  void take_answer(QueryId id, MemberId member, TensorList& outputs);
  void take_failure(QueryId id, MemberId member, const caf::error& error);
  Seat* answered(MemberId member);
  void forget_if_done(MemberId member);
  void settle(QueryId id);
  void finish(std::map<QueryId, Query>::iterator at);
  void fail_query(std::map<QueryId, Query>::iterator at, const caf::error& error);
  caf::error too_few_in_time(const Query& query) const;

  Ensemble::pointer self_;
  EnsembleOptions options_;
  std::map<MemberId, Seat> seats_;
  std::map<QueryId, Query> queries_;
  MemberId next_member_ = 0;
  QueryId next_query_ = 0;
  EnsembleStatus counts_;
};

/// Passes every query on to all members and answers with what the combiner makes of
/// theirs: when all have answered, or at the deadline with a quorum, or at once with
/// a quorum (`first_quorum`). Members come, go and get other weights at any time.
///
/// A member that fails, dies or says what is not a number takes no part in the
/// answer, which names it as missing; one that has too many queries left is not
/// asked. Answers that come late are counted and dropped. A query fails with
///   unavailable          when there are fewer members than the quorum
///   deadline_exceeded    when there is no quorum at the deadline, naming who is missing
///   resource_exhausted   when too many members have too many queries left
///   the first failure    when so many have failed that there can be no quorum
///   invalid_argument     when outputs of members differ in number, dtype or shape
Ensemble::behavior_type ensemble(Ensemble::stateful_pointer<EnsembleState> self,
                                 EnsembleOptions options);

}  // namespace troupe
