#pragma once

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "troupe/messages/system_config.h"
#include "troupe/testing/reader_contract.h"

namespace troupe::contract {

/// The answer to one request, which may be still to come.
template <class T>
struct Reply {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<T> value;
  caf::error fault;

  bool done() {
    const std::lock_guard guard(mutex);
    return value || fault;
  }
};

/// Ends a check: what it found stands in the outcome.
struct CheckEnds {};

/// Where a reader is put to one test: an actor system of its own, and clients.
class Scene {
 public:
  explicit Scene(const ReaderSubject& subject);
  /// Ends every actor of the scene.
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  const ReaderSubject& subject() const { return subject_; }
  Outcome& outcome() { return outcome_; }

  /// Notes a failure and ends the check.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) {
    outcome_.failures.push_back(text(parts...));
    throw CheckEnds();
  }
  [[noreturn]] void skip(std::string why) {
    outcome_.skipped = std::move(why);
    throw CheckEnds();
  }

  Reader spawn(const ReaderOptions& options);
  Reader spawn_damaged(const ReaderOptions& options);

  /// Sends a request. Nothing moves before the scene waits or steps; with threads,
  /// it moves by itself.
  template <class T, class... Args>
  std::shared_ptr<Reply<T>> post(const Reader& reader, Args... args) {
    auto reply = std::make_shared<Reply<T>>();
    clients_.push_back(
        caf::actor_cast<caf::actor>(system_->spawn([=](caf::event_based_actor* self) {
          self->request(reader, caf::infinite, args...)
              .then(
                  [reply](T& value) {
                    const std::lock_guard guard(reply->mutex);
                    reply->value = std::move(value);
                    reply->arrived.notify_all();
                  },
                  [reply](caf::error& fault) {
                    const std::lock_guard guard(reply->mutex);
                    reply->fault = std::move(fault);
                    reply->arrived.notify_all();
                  });
        })));
    return reply;
  }
  /// Whoever sent the last request.
  caf::actor last_client() const { return clients_.back(); }

  /// Waits for the answer; a failure when none comes. `what` is what was asked:
  /// "a request for a block".
  template <class T>
  const Reply<T>& wait(const std::shared_ptr<Reply<T>>& reply, std::string_view what) {
    const auto done = [&] { return reply->done(); };
    bool answered = false;
    if (subject_.threads) {
      std::unique_lock lock(reply->mutex);
      answered = reply->arrived.wait_for(lock, subject_.patience,
                                         [&] { return reply->value || reply->fault; });
    } else {
      answered = run_until(done);
    }
    if (!answered) fail(what, " was not answered");
    return *reply;
  }
  template <class T, class... Args>
  const Reply<T>& ask(const Reader& reader, std::string_view what, Args... args) {
    replies_.push_back(post<T>(reader, args...));
    return wait(std::static_pointer_cast<Reply<T>>(replies_.back()), what);
  }

  /// Lets everybody work who can. A failure when that does not end.
  void settle(const Reader& reader);
  /// Lets one actor handle what it has; nothing with threads.
  void step();
  void send_exit(const caf::actor& actor);

 private:
  struct Config;
  bool run_until(const std::function<bool()>& done);
  void run();
  Reader keep(Reader reader);

  const ReaderSubject& subject_;
  Outcome outcome_;
  std::unique_ptr<Config> config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<caf::actor> readers_;
  std::vector<caf::actor> clients_;
  std::vector<std::shared_ptr<void>> replies_;
};

}  // namespace troupe::contract
