#pragma once

#include <caf/error.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/allreduce/reduction.h"

namespace troupe {

struct ReducerOptions {
  AllReduce kind = AllReduce::ring;
  std::string group = "all-reduce";  ///< for messages
};

class ReducerState {
 public:
  static constexpr const char* name = "troupe.reducer";

  explicit ReducerState(Reducer::pointer self) : self_(self) {}
  ~ReducerState();

  void start(const ReducerOptions& options) { options_ = options; }
  caf::ok_atom join(const std::vector<ReductionPort>& members);
  caf::result<Reduction> run(std::uint64_t round, Reduction& own);
  void take(ReductionPart& part);
  void lose(const caf::actor_addr& member, const caf::error& why);

 private:
  std::string title() const;
  void finish_if_done();
  void end(const caf::error& failure);

  Reducer::pointer self_;
  ReducerOptions options_;
  std::vector<ReductionPort> members_;
  std::uint32_t place_ = 0;  // of this one among them
  std::unique_ptr<ReductionRound> reduction_;
  std::uint64_t round_ = 0;  // the last one that was begun
  bool under_way_ = false;
  caf::typed_response_promise<Reduction> promise_;
  std::multimap<std::uint64_t, ReductionPart> early_;  // of rounds that have not begun here
  caf::error failure_;
};

/// One member of a group: which one, its place among them says. Parts of a round that it has not
/// begun yet wait for it. A member that ends takes the group down: what the others are asked is
/// answered with its name, until they join a group again, which may have more members, or fewer.
/// All members must have joined that before anyone runs a round in it.
Reducer::behavior_type reducer(Reducer::stateful_pointer<ReducerState> self,
                               ReducerOptions options);

}  // namespace troupe
