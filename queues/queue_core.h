#pragma once

#include <caf/actor_addr.hpp>
#include <caf/error.hpp>
#include <caf/expected.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/messages/data_state.h"
#include "troupe/queues/queue_component.h"
#include "troupe/queues/queue_kind.h"
#include "troupe/queues/stack_padded.h"

namespace troupe {

struct QueueOptions {
  static constexpr std::int64_t kUnbounded = -1;

  std::string name = "queue";
  std::int64_t capacity = 1024;      ///< elements, at least 1, or kUnbounded
  std::uint64_t capacity_bytes = 0;  ///< bytes of the elements inside; 0 for no bound
  /// How many producers will attach. Before they all have, the queue does not close
  /// for want of producers: a quick one may detach before a slow one attaches.
  std::int64_t producers = 1;
  /// What every element must look like. Empty: like the first one that comes.
  std::vector<QueueComponent> components;
  /// How a batch is made of elements whose sizes differ. Without it such elements
  /// leave one at a time.
  std::optional<ElementPadding> padding;
  /// Elements leave only while an enqueue waits that does not fit, and after the close.
  /// What is inside when one is drawn at random then depends on no timing. Not for kinds
  /// that do not gather.
  bool only_when_full = false;
  /// After a close with Code::cancelled nothing leaves, and dequeues fail at once: whoever goes on
  /// from a snapshot gets the batches of a queue that was never closed.
  bool keeps_when_cancelled = false;
  /// How long dequeues may wait while no producer is attached; then they fail with
  /// failed_precondition. kForever suits a queue that is filled without attaching.
  Timeout producer_patience = kForever;
  /// How many readers' blocks come. What has come of each is remembered for checkpoints;
  /// 0 for a queue of which there are none.
  std::uint32_t readers = 0;
};

/// What all queues have in common, without the actor around it: two lists of
/// waiting requests, and the rules by which they are answered.
///
/// Fairness is strict: in each list only the first request is tried, and the
/// ones behind it wait. A block that does not fit goes in element by element as
/// room appears; a dequeue takes elements as they come, so its count may exceed
/// the capacity. Therefore a queue holds up to its capacity, and the first
/// waiting dequeue up to its count besides.
///
/// A kind that does not gather serves a dequeue all at once instead. When its first
/// dequeue waits for more elements than there is room for beside the first enqueue,
/// neither would ever move: that dequeue gets what is inside (up_to) or an error.
///
/// Every request ends in exactly one call of its completion, at once or from a
/// later call of another method. Completions must not call the queue.
///
/// Semantics are those of TensorFlow 1.15's queues (core/kernels/queue_base.cc),
/// with deadlines, atomic enqueues, a bound in bytes and a reason for the close.
class QueueCore {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Now = std::function<TimePoint()>;
  /// Called with no error when all is well.
  using Done = std::function<void(const caf::error&)>;
  /// Called with the elements of a batch, and the number of the batch from 0.
  using TakenDone = std::function<void(caf::expected<ElementBlock>)>;

  /// Throws invalid_argument for a bad capacity, a floor that is not below it, and padding
  /// that does not fit the components.
  QueueCore(QueueKind kind, QueueOptions options, Now now);
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  /// `client` is who gets the answer, for messages.
  void enqueue(ElementBlock block, const EnqueueOptions& options, caf::actor_addr client,
               Done done);

  /// `client` is who gets the answer: when it dies its request is dropped.
  void dequeue(const DequeueRequest& request, caf::actor_addr client, TakenDone done);

  /// A look at an element that stays inside. Who looks keeps nobody waiting. For kinds
  /// whose store can tell which element is where.
  void peek(const PeekRequest& request, caf::actor_addr client, TakenDone done);

  /// Drops what is inside.
  void clear();

  /// Done once the close is in force: after the enqueues that were already
  /// waiting, or at once if those are to be cancelled. When its time has run out it
  /// cancels them too and says in its answer, deadline_exceeded, who they were. The
  /// first reason stays, but a failure replaces the end of the data.
  void close(const CloseRequest& request, Done done);

  /// This producer will attach, and is called `name` in messages. Without an address, or
  /// when it is lost before it has, the queue closes with that failure.
  void expect(const std::string& name, const caf::actor_addr& producer);
  void attach(const caf::actor_addr& producer, Done done);
  /// A failure closes the queue at once and cancels the enqueues that wait; the
  /// end of the data closes it when the last producer detaches.
  void detach(const caf::actor_addr& producer, const CloseReason& reason, Done done);

  /// An actor has ended: it gets no more batches, and if it is still a producer, or
  /// one is to come, the queue closes with that failure.
  void lost(const caf::actor_addr& actor, const caf::error& reason);

  /// Answers deadline_exceeded to the requests whose time has run out, and
  /// failed_precondition to dequeues that have waited for a producer for too long.
  void expire();
  /// When expire() has something to do.
  std::optional<TimePoint> next_deadline() const;

  /// As things are now; elements are shared. With QueueOptions::readers that is also possible
  /// after a close that gave enqueues up; otherwise it throws failed_precondition then.
  QueueSnapshot snapshot() const;
  /// Goes on from there; for a queue to which nothing has come. Throws invalid_argument for
  /// the snapshot of another kind of queue and for elements that do not fit.
  void restore(QueueSnapshot snapshot);

  /// Answers cancelled to everybody who waits. Nothing may be asked afterwards.
  void end();

  QueueStatus status() const;
  /// The components of a batch without elements; extents that are not known are 0.
  TensorList no_rows() const;
  /// How a batch is made of elements whose sizes differ.
  const std::optional<ElementPadding>& padding() const { return options_.padding; }

 private:
  struct WaitingEnqueue {
    std::vector<Element> elements;
    std::size_t next = 0;  ///< elements before this one are in
    bool atomic = false;
    bool closes = false;  ///< not an enqueue but a close, behind those that came before it
    std::optional<TimePoint> deadline;
    Timeout timeout = kForever;
    caf::actor_addr client;
    Done done;
  };
  struct WaitingDequeue {
    DequeueRequest request;
    caf::actor_addr client;
    std::vector<Element> taken;
    std::optional<TimePoint> deadline;
    TakenDone done;
  };
  struct WaitingPeek {
    PeekRequest request;
    caf::actor_addr client;
    std::optional<TimePoint> deadline;
    TakenDone done;
  };
  /// Which blocks of a reader are in.
  struct Receipts {
    std::uint64_t below = 0;
    std::set<std::uint64_t> above;
    std::uint64_t elements = 0;
    std::uint64_t left_out = 0;
  };
  /// Sums up the time during which a list was not empty.
  struct Stopwatch {
    std::chrono::nanoseconds total{0};
    std::optional<TimePoint> since;
    void update(bool waiting, const Now& now);
    std::chrono::nanoseconds read(const Now& now) const;
  };

  void check_options() const;
  void check_padding(const std::vector<QueueComponent>& components) const;
  void check(const std::vector<Element>& elements);
  std::vector<QueueComponent> components_like(const Element& element) const;
  void check_component(const Tensor& tensor, std::size_t index, std::size_t component,
                       const QueueComponent& wanted) const;
  caf::error refusal(const DequeueRequest& request) const;

  void note_receipt(const ElementBlock& block);
  void flush();
  bool advance_enqueues();
  bool advance_dequeues();
  void advance_peeks();
  bool break_jam();
  bool fits(std::uint64_t elements, std::uint64_t bytes) const;
  /// Moves elements in; true when the request is finished, one way or the other.
  bool admit(WaitingEnqueue& waiting);
  void put(Element element);
  void take(WaitingDequeue& waiting);
  void put_back(WaitingDequeue& waiting);
  bool may_take() const;
  bool keeps_all() const;
  std::size_t batch_size(const WaitingDequeue& waiting);
  void deliver(WaitingDequeue& waiting);

  void expire_closes(TimePoint now);
  void give_up_enqueues();

  std::optional<TimePoint> deadline_of(Timeout timeout) const;
  /// Notes since when dequeues wait although no producer is attached.
  void look_for_producers();
  std::string names_of_expected() const;
  /// Closes because of a producer that ended: "<what> ended <when>".
  void give_up(const std::string& what, const caf::error& reason);
  caf::error closed_fault() const;
  caf::error never_fits(const WaitingEnqueue& waiting) const;
  caf::error never_together(const WaitingDequeue& waiting) const;
  caf::error insufficient(std::int64_t requested) const;
  caf::error closed_late(const WaitingEnqueue& close) const;

  QueueKind kind_;
  std::string title_;  // "FIFOQueue 'examples'"
  QueueOptions options_;
  Now now_;

  std::deque<WaitingEnqueue> enqueues_;
  std::deque<WaitingDequeue> dequeues_;
  std::vector<WaitingPeek> peeks_;
  std::map<caf::actor_addr, std::string> expected_;  // producers that have not attached; names
  std::set<caf::actor_addr> producers_;
  std::int64_t attached_ = 0;           // producers, ever
  std::optional<TimePoint> abandoned_;  // when dequeues without a producer are given up
  std::vector<Receipts> receipts_;      // by reader
  std::uint32_t last_reader_ = 0;
  std::vector<Element> leaving_;   // for the first dequeue: a snapshot had begun to fill it
  bool untold_ = false;            // elements are in of which nobody knows where they come from
  std::vector<Element> given_up_;  // of enqueues, by a close
  std::uint64_t bytes_ = 0;
  bool full_ = false;     // the first enqueue that waits does not fit
  bool closing_ = false;  // a close is in the list, or in force
  bool closed_ = false;
  CloseReason reason_;

  std::uint64_t enqueued_ = 0;
  std::uint64_t dequeued_ = 0;
  std::uint64_t batches_ = 0;
  Stopwatch blocked_on_full_;
  Stopwatch blocked_on_empty_;
};

}  // namespace troupe
