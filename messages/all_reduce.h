#pragma once

#include "troupe/messages/data_state.h"

namespace troupe {

/// What one member of a group brings to a round, or what the round has made of it.
struct Reduction {
  /// Added up, place by place: every member brings the same dtypes and shapes.
  TensorList sums;
  /// By member of the group: what each brought to be handed to all. A member brings its
  /// own as the only one.
  std::vector<TensorList> gathered;
};

/// What goes from one member of a group to another.
struct ReductionPart {
  std::uint64_t round = 0;
  std::uint32_t chunk = 0;   ///< ring: which part of the sums; tree: unused
  std::uint32_t hops = 0;    ///< ring: how many members have it
  bool complete = false;     ///< the sums are of all members, and only handed on
  std::uint32_t origin = 0;  ///< who has sent it
  TensorList sums;
  std::vector<std::uint32_t> givers;  ///< whose `gathered` these are
  std::vector<TensorList> gathered;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Reduction& x) {
  return f(caf::meta::type_name("Reduction"), x.sums, x.gathered);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ReductionPart& x) {
  return f(caf::meta::type_name("ReductionPart"), x.round, x.chunk, x.hops, x.complete, x.origin,
           x.sums, x.givers, x.gathered);
}

/// Where the neighbours of a member send what it needs.
using ReductionPort = caf::typed_actor<caf::reacts_to<edge_atom, troupe::ReductionPart>>;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_all_reduce, caf::id_block::troupe_data_state_handles::end)

CAF_ADD_TYPE_ID(troupe_all_reduce, (troupe::Reduction))
CAF_ADD_TYPE_ID(troupe_all_reduce, (troupe::ReductionPart))
CAF_ADD_TYPE_ID(troupe_all_reduce, (std::vector<troupe::TensorList>))
CAF_ADD_TYPE_ID(troupe_all_reduce, (troupe::ReductionPort))
CAF_ADD_TYPE_ID(troupe_all_reduce, (std::vector<troupe::ReductionPort>))

CAF_END_TYPE_ID_BLOCK(troupe_all_reduce)

namespace troupe {

/// A member of a group that adds up tensors without anybody in the middle.
///   (join, members)          -> ok         all members in their order, this one among them; once
///                                          more when others have taken the places of some: what
///                                          was under way is given up
///   (run, round, reduction)  -> reduction  once all members have brought theirs to that round;
///                                          unavailable, naming it, when one of them is gone;
///                                          invalid_argument when they do not fit each other.
///                                          Every round is greater than those before it
using Reducer = ReductionPort::extend<
    caf::replies_to<join_atom, std::vector<ReductionPort>>::with<caf::ok_atom>,
    caf::replies_to<run_atom, std::uint64_t, Reduction>::with<Reduction>>;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_reducer, caf::id_block::troupe_all_reduce::end)

CAF_ADD_TYPE_ID(troupe_reducer, (troupe::Reducer))

CAF_END_TYPE_ID_BLOCK(troupe_reducer)
