#pragma once

#include <caf/fwd.hpp>
#include <caf/make_message.hpp>  // which result.hpp needs
#include <caf/result.hpp>
#include <functional>
#include <memory>

#include "troupe/messages/data_state.h"
#include "troupe/queues/client_watch.h"
#include "troupe/queues/queue_core.h"

namespace troupe {

/// Stacks the elements of a batch. Large batches are stacked by an actor of its own,
/// because copying takes milliseconds in which the queue could not take elements.
using Stacker = caf::typed_actor<caf::replies_to<ElementBlock>::with<Batch>>;

/// The state of every queue actor: the words of the Queue interface around a QueueCore.
struct QueueState {
  static constexpr const char* name = "troupe.queue";

  explicit QueueState(caf::scheduled_actor* actor) : self(actor), clients(actor) {}
  /// Nobody waits for ever on a queue that is gone.
  ~QueueState();

  /// Makes the core, for a queue that begins. When the options are wrong it is closed from
  /// the start with what is wrong as its reason.
  void begin(QueueOptions options, const std::function<QueueKind()>& kind);

  caf::result<caf::ok_atom> enqueue(ElementBlock& block, const EnqueueOptions& options);
  caf::result<Batch> dequeue(const DequeueRequest& request);
  void expect(const std::string& name, const caf::actor& producer);
  caf::result<caf::ok_atom> attach();
  caf::result<caf::ok_atom> detach(const CloseReason& reason);
  caf::result<caf::ok_atom> close(const CloseRequest& request);
  caf::result<Batch> peek(const PeekRequest& request);

  caf::scheduled_actor* self;
  std::unique_ptr<QueueCore> core;
  Stacker stacker;      // spawned with the first large batch
  ClientWatch clients;  // and producers
};

/// The behaviour of a queue of a certain kind. For the functions that make one, such as
/// fifo_queue; what `kind` throws is the reason with which the queue is closed.
SavableQueue::behavior_type queue_behavior(SavableQueue::stateful_pointer<QueueState> self,
                                           QueueOptions options,
                                           const std::function<QueueKind()>& kind);

}  // namespace troupe
