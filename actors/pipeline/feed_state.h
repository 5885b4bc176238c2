#pragma once

#include <caf/actor.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/pipeline/feed.h"

namespace troupe {

/// Where the threads that push and the actor that takes meet. The only lock in the
/// data path: those threads are the user's, and can be made to wait in no other way.
class FeedState : public std::enable_shared_from_this<FeedState> {
 public:
  FeedState(std::vector<QueueComponent> components, FeedOptions options);

  const std::vector<QueueComponent>& components() const { return components_; }
  const FeedOptions& options() const { return options_; }
  std::string title() const { return "feed '" + options_.name + "'"; }

  // ---- for those who push: see Feed ----
  void push(Element element, Timeout timeout);
  void push_rows(const TensorList& columns, Timeout timeout);
  void close(const CloseReason& reason);
  /// Nobody can push or close any more. What was pushed is not dropped.
  void abandon();

  // ---- for the actor that takes ----
  /// `actor` gets a tick when there is something to take after a take() of nothing.
  /// Throws failed_precondition when another one has been here.
  void bind(caf::actor actor);
  struct Taken {
    std::vector<Element> elements;
    std::uint64_t bytes = 0;
    std::optional<CloseReason> end;  ///< nothing comes after these
  };
  /// Up to `most` elements. They count as waiting until they are passed_on().
  Taken take(std::size_t most);
  void passed_on(std::size_t elements, std::uint64_t bytes);
  /// Whoever pushes from now on gets this error.
  void end(const Error& error);

 private:
  void check(const Element& element) const;
  [[noreturn]] void refuse() const;
  bool fits(std::uint64_t bytes) const;
  void wake();

  const std::vector<QueueComponent> components_;
  const FeedOptions options_;

  std::mutex mutex_;
  std::condition_variable room_;
  std::vector<Element> waiting_;
  std::int64_t size_ = 0;    // waiting, or taken and not passed on
  std::uint64_t bytes_ = 0;  // of those
  caf::actor actor_;         // who takes
  bool bound_ = false;       // somebody takes, or has taken
  bool asleep_ = false;      // the actor wants a tick
  std::optional<CloseReason> closed_;
  std::optional<Error> ended_;
};

}  // namespace troupe
