#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <map>
#include <string>
#include <vector>

#include "troupe/devices/partition.h"
#include "troupe/messages/protocol.h"

namespace troupe {

struct PartOptions {
  PartSpec spec;
  Device device;
  std::string name;  ///< of the device, for errors
};

class PartState {
 public:
  static constexpr const char* name = "troupe.part";

  explicit PartState(Part::pointer self) : self_(self) {}
  ~PartState();

  void start(PartOptions options);
  caf::result<caf::ok_atom> load(std::vector<EdgeSink> parts);
  caf::result<RunResult> run(std::uint64_t number, std::uint64_t seed, const TensorList& feeds,
                             OutputSink sink, std::uint64_t tag);
  void arrive(std::uint64_t number, std::uint32_t slot, const Tensor& value);
  void output(std::uint64_t call, std::uint32_t index, const Tensor& value);
  void cancel(std::uint64_t number);
  PartStatus status() const;

 private:
  struct Step {
    caf::typed_response_promise<RunResult> promise;
    std::uint64_t seed = 0;
    OutputSink sink;
    std::uint64_t tag = 0;
    RunResult result;
    std::map<std::uint32_t, Tensor> values;  ///< by slot: what fragments wait for
    std::vector<int> awaits;                 ///< by fragment: slots that are not there yet
    std::size_t open = 0;  ///< answers and values that are still to come from the device
  };

  Step* find(std::uint64_t number);
  void fill(Step& step, std::uint64_t number, std::uint32_t slot, const Tensor& value);
  void begin(Step& step, std::uint64_t number, std::size_t fragment);
  void one_less(std::uint64_t number);
  void fail(std::uint64_t number, const caf::error& why);

  Part::pointer self_;
  PartSpec spec_;
  Device device_;
  std::string device_name_;
  std::vector<EdgeSink> parts_;
  std::vector<FragmentId> loaded_;    ///< by fragment; 0 for none yet
  std::vector<std::size_t> readers_;  ///< by slot: fragments that are fed it
  std::size_t open_per_step_ = 0;
  std::uint64_t last_step_ = 0;
  std::map<std::uint64_t, Step> steps_;
  std::map<std::uint64_t, std::vector<std::pair<std::uint32_t, Tensor>>> early_;  ///< by step
};

/// Does what one device does of a graph: runs the fragments of its part as soon as their
/// inputs are there, and sends to other parts what they wait for. Several steps may go on
/// at the same time. A value is kept until the last fragment that waits for it has begun;
/// nothing of a step is kept when it has ended, whether or not it has failed.
///
/// Answers a run with the words of the fragment that failed, with cancelled when it was
/// told to give it up, and with unavailable, naming the device, when that is gone.
Part::behavior_type part(Part::stateful_pointer<PartState> self, PartOptions options);

}  // namespace troupe
