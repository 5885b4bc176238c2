#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "troupe/messages/protocol.h"

namespace troupe {

/// Where the weights of a run go while it goes on.
struct PublishOptions {
  std::uint64_t every = 0;  ///< steps; 0 for at the end only
  /// Gets all variables by name, moving averages where there are some, with the step that they
  /// are of. One call at a time, on a thread that may wait; what falls due meanwhile follows
  /// with the newest weights. What it throws is an event, and the run goes on. Weights of
  /// several shards may be an update apart, except the last ones.
  ///
  ///   [&](const Parameters& weights) { ensemble.assign("cnn", weights); }
  std::function<void(const Parameters&)> to;
};

struct PublisherOptions {
  PublishOptions publish;
  std::vector<Shard> shards;
  std::size_t leading = 0;    ///< so many of them, the first ones, have the run's version; 0: all
  ShardKeeper keeper;         ///< says which copies take the place of shards that die; may be none
  bool averages = false;      ///< the moving averages of the variables instead of their values
  SummaryWriter summaries;    ///< is told everything that it is told; may be none
  TrainingListener listener;  ///< for the events
};

/// Hears of every step, and publishes when it is time.
///   (save) -> ok   the newest weights are published, if they were not; else what went wrong
using Publisher = SummaryWriter::extend<caf::replies_to<save_atom>::with<caf::ok_atom>>;

class PublisherState {
 public:
  static constexpr const char* name = "troupe.publisher";

  explicit PublisherState(Publisher::pointer self) : self_(self) {}
  ~PublisherState();

  void start(PublisherOptions options) { options_ = std::move(options); }
  void take(const StepReport& report);
  void take(const EvaluationResult& result);
  caf::result<caf::ok_atom> save();
  caf::result<caf::ok_atom> stop();

 private:
  void publish();
  void pull(std::size_t shard);
  void ask_keeper(std::size_t shard, const caf::error& why);
  void take(std::size_t shard, Parameters part);
  void give_up(const Error& error);
  Parameters put_together();
  void done();

  Publisher::pointer self_;
  PublisherOptions options_;
  std::uint64_t step_ = 0;       // the newest one that was heard of
  std::uint64_t published_ = 0;  // the last one that was published
  bool due_ = false;
  std::size_t missing_ = 0;  // shards that have not answered
  bool busy_ = false;
  std::optional<Error> failure_;
  std::map<std::size_t, Parameters> parts_;  // by shard
  std::vector<caf::typed_response_promise<caf::ok_atom>> waiting_;
};

/// Spawn it detached: it runs code of the user's.
Publisher::behavior_type publisher(Publisher::stateful_pointer<PublisherState> self,
                                   PublisherOptions options);

}  // namespace troupe
