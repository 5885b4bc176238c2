#pragma once

#include <caf/actor_control_block.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <memory>

#include "troupe/devices/fragment.h"
#include "troupe/messages/protocol.h"

namespace troupe {

/// Where the streamed outputs of a run go.
struct RunSink {
  OutputSink actor;
  std::uint64_t tag = 0;
};

/// One run of a fragment.
struct RunJob {
  std::shared_ptr<Fragment> fragment;
  std::uint64_t seed = 0;
  TensorList feeds;
  RunSink to;
};

/// A run that could use one more thread.
struct HelpCall {
  std::shared_ptr<Executor> executor;
  std::uint64_t run = 0;
  RunSink to;
  caf::strong_actor_ptr leader;
};

}  // namespace troupe

// These stay inside the process.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::RunJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::HelpCall)
