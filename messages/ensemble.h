#pragma once

#include "troupe/messages/protocol.h"

namespace troupe {

/// What one member of an ensemble says to a query.
struct MemberAnswer {
  std::string member;
  double weight = 1;  ///< as it was given when the member joined
  TensorList outputs;
};

/// What an ensemble says to a query.
struct EnsembleAnswer {
  TensorList outputs;                 ///< of all that answered, combined
  std::vector<std::string> answered;  ///< members, in the order in which they joined
  std::vector<std::string> missing;   ///< members whose answer is not in it, and why
};

/// How one member has done so far. Queries of an ensemble are each counted once.
struct MemberStatus {
  std::string name;
  double weight = 1;
  std::uint64_t answered = 0;  ///< in time
  std::uint64_t late = 0;      ///< after the ensemble had answered
  std::uint64_t failed = 0;
  std::uint64_t skipped = 0;     ///< not asked: it had too many queries left
  std::int64_t outstanding = 0;  ///< that it has not answered yet
  std::string last_failure;
};

struct EnsembleStatus {
  std::string name;
  std::uint64_t queries = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;
  std::vector<MemberStatus> members;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, EnsembleAnswer& x) {
  return f(caf::meta::type_name("EnsembleAnswer"), x.outputs, x.answered, x.missing);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, MemberStatus& x) {
  return f(caf::meta::type_name("MemberStatus"), x.name, x.weight, x.answered, x.late, x.failed,
           x.skipped, x.outstanding, x.last_failure);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, EnsembleStatus& x) {
  return f(caf::meta::type_name("EnsembleStatus"), x.name, x.queries, x.answered, x.failed,
           x.members);
}

/// A model with its weights: something that can be a member of an ensemble.
///   (run, inputs)     -> outputs
///   (assign, weights) -> ok        for the queries that come after it; not_found or
///                                  invalid_argument, and nothing is changed, when a variable is
///                                  missing or has another dtype or shape
using Member = caf::typed_actor<caf::replies_to<run_atom, TensorList>::with<TensorList>,
                                caf::replies_to<assign_atom, Parameters>::with<caf::ok_atom>>;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_ensemble, caf::id_block::troupe_handles::end)

CAF_ADD_TYPE_ID(troupe_ensemble, (troupe::EnsembleAnswer))
CAF_ADD_TYPE_ID(troupe_ensemble, (troupe::MemberStatus))
CAF_ADD_TYPE_ID(troupe_ensemble, (std::vector<troupe::MemberStatus>))
CAF_ADD_TYPE_ID(troupe_ensemble, (troupe::EnsembleStatus))
CAF_ADD_TYPE_ID(troupe_ensemble, (troupe::Member))

CAF_END_TYPE_ID_BLOCK(troupe_ensemble)

namespace troupe {

/// Asks all its members and combines what they say.
///   (run, inputs)                -> answer  see EnsembleOptions for how long it waits for whom
///   (join, name, member, weight) -> ok      already_exists for a name that is taken
///   (leave, name)                -> ok      it gets no more queries from now on; answered once it
///                                           owes no more answers, which still count
///   (assign, name, weights)      -> ok      passed on to that member
///   (status)                     -> status
using Ensemble =
    caf::typed_actor<caf::replies_to<run_atom, TensorList>::with<EnsembleAnswer>,
                     caf::replies_to<join_atom, std::string, Member, double>::with<caf::ok_atom>,
                     caf::replies_to<leave_atom, std::string>::with<caf::ok_atom>,
                     caf::replies_to<assign_atom, std::string, Parameters>::with<caf::ok_atom>,
                     caf::replies_to<status_atom>::with<EnsembleStatus>>;

}  // namespace troupe
