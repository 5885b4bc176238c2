#pragma once

#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <deque>
#include <map>

#include "troupe/messages/protocol.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

struct FeederOptions {
  Queue queue;
  std::int64_t batch = 1;  ///< rows that are dequeued at a time
  std::uint32_t replicas = 1;
  bool split = false;           ///< each replica gets its share of every batch; else whole batches
  bool drop_remainder = false;  ///< at the end of the data, fewer rows than `batch` are dropped
};

struct FeederState {
  static constexpr const char* name = "troupe.feeder";
  std::map<std::uint32_t, std::deque<Batch>> ready;  ///< shares that wait for their replica
  std::map<std::uint32_t, caf::typed_response_promise<Batch>> waiting;
  bool split = false;
  bool asked = false;
  StageClock clock;
  caf::error end;
};

/// Takes batches from a queue and hands them to replicas. With `split`, batch i
/// is cut into one share per replica, in order, without a copy: what is trained
/// on at step i does then not depend on the number of replicas or on timing.
/// Otherwise whoever asks gets the next whole batch. When that is changed, shares that are
/// waiting for their replica are handed out first.
BatchSource::behavior_type feeder(BatchSource::stateful_pointer<FeederState> self,
                                  FeederOptions options);

}  // namespace troupe
