#pragma once

#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/messages/data_state.h"

namespace troupe {

/// Snapshots of a pipeline in the making, for those who share its batches. One begins where a
/// branch stands, and has every batch from there on until the pipeline says how many have left
/// it: nobody has to wait meanwhile, and the branch may leave.
class BroadcastCuts {
 public:
  /// `broadcast` is its name, for messages; `received` batches have come before.
  void begin(std::string broadcast, std::uint64_t received);
  /// Nobody waits for ever on a broadcast that is gone.
  ~BroadcastCuts();

  struct Cut;
  using CutPtr = std::shared_ptr<Cut>;
  /// The branch has not had these batches, which have come already.
  CutPtr open(std::vector<Batch> batches, caf::typed_response_promise<PipelineSnapshot> promise);
  /// The pipeline has answered.
  void take(const CutPtr& cut, PipelineSnapshot snapshot);
  void fail(const CutPtr& cut, const caf::error& why);

  void note_arrival(const Batch& batch);
  /// No more batches come. One that had left the pipeline, but could not be made, is lost.
  void note_end(const caf::error& why);

 private:
  void deliver();

  std::string broadcast_;
  std::uint64_t received_ = 0;
  caf::error end_;
  std::vector<CutPtr> open_;
};

}  // namespace troupe
