#pragma once

#include <caf/actor_addr.hpp>
#include <caf/expected.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "troupe/queues/queue_core.h"

namespace troupe {

struct BarrierOptions {
  static constexpr std::int64_t kUnbounded = -1;

  std::string name = "barrier";
  std::vector<QueueComponent> components;  ///< of an element; at least one, no extent unknown
  /// Keys inside, complete or not, or kUnbounded. An insert that would make it more is
  /// refused: it cannot wait, because what completes other keys may come behind it.
  std::int64_t capacity = kUnbounded;
};

/// A barrier without the actor around it: elements whose components come at different
/// times, from different sides, and are put together by a key.
///
/// A key that has all components is complete; complete ones are taken in the order in
/// which their keys first came. A key that has been completed may come again, as a new one.
///
/// In the list of waiting takes only the first is tried. It is served all at once: nothing
/// is taken for a request that is not served.
///
/// After the close there are no new keys, but components of known keys still come, unless
/// the close cancels: then incomplete elements are dropped. A take that can no more be
/// served gets the reason of the close; with up_to it gets what is complete, and waits only
/// for the first one.
///
/// Semantics are those of TensorFlow 1.15's Barrier (core/kernels/barrier_ops.cc), with
/// inserts that go in as a whole or not at all, deadlines, and a reason for the close.
class BarrierCore {
 public:
  using TimePoint = QueueCore::TimePoint;
  using Now = QueueCore::Now;
  using TakeDone = std::function<void(caf::expected<BarrierBatch>)>;

  /// Throws invalid_argument for components that are missing or not known in all extents.
  BarrierCore(BarrierOptions options, Now now);
  BarrierCore(const BarrierCore&) = delete;
  BarrierCore& operator=(const BarrierCore&) = delete;

  /// Throws invalid_argument for a component that a key has already, or that does not fit;
  /// resource_exhausted above the capacity; cancelled after the close.
  void insert(const BarrierInsert& insert);

  /// `client` is who gets the answer: when it dies its request is dropped.
  void take(const DequeueRequest& request, caf::actor_addr client, TakeDone done);
  /// In force at once. May be repeated; the first reason stays, but a failure replaces the
  /// end of the data.
  void close(const CloseRequest& request);

  void lost(const caf::actor_addr& client);
  void expire();
  std::optional<TimePoint> next_deadline() const;
  /// Answers cancelled to everybody who waits. Nothing may be asked afterwards.
  void end();

  BarrierStatus status() const;

 private:
  struct Partial {
    std::uint64_t order = 0;  // of the key's first component among those of all keys
    std::int64_t insert = 0;  // that brought it
    Element components;
    std::vector<bool> present;
    std::size_t missing = 0;
  };
  struct Complete {
    std::string key;
    std::int64_t insert = 0;
    Element components;
  };
  struct WaitingTake {
    DequeueRequest request;
    caf::actor_addr client;
    std::optional<TimePoint> deadline;
    TakeDone done;
  };

  void check(const BarrierInsert& insert) const;
  void check_keys(const BarrierInsert& insert) const;
  void add(const BarrierInsert& insert, std::size_t row);
  void flush();
  BarrierBatch take_out(std::size_t count);
  caf::error insufficient(std::int64_t requested) const;

  BarrierOptions options_;
  std::string title_;  // "Barrier 'pairs'"
  Now now_;

  std::unordered_map<std::string, Partial> incomplete_;
  std::map<std::uint64_t, Complete> ready_;  // by Partial::order
  std::deque<WaitingTake> takes_;
  std::uint64_t next_order_ = 0;
  std::int64_t next_insert_ = 0;  // with new keys
  bool closed_ = false;
  bool cancelled_ = false;  // closed for components of known keys too
  CloseReason reason_;
};

}  // namespace troupe
