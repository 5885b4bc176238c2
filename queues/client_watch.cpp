#include "troupe/queues/client_watch.h"

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/system_messages.hpp>
#include <utility>

#include "troupe/messages/tick.h"

namespace troupe {

void ClientWatch::begin(std::function<void(const caf::actor_addr&, const caf::error&)> lost,
                        std::function<void()> expire) {
  self_->set_down_handler([this, lost = std::move(lost)](const caf::down_msg& down) {
    watched_.erase(down.source);
    lost(down.source, down.reason);
  });
  on_tick(self_, [this, expire = std::move(expire)] {
    timer_.reset();
    expire();
  });
}

void ClientWatch::watch(const caf::strong_actor_ptr& client) {
  if (client && watched_.insert(caf::actor_cast<caf::actor_addr>(client)).second)
    self_->monitor(caf::actor_cast<caf::actor>(client));
}

void ClientWatch::wake_at(std::optional<TimePoint> next) {
  if (!next || (timer_ && *timer_ <= *next)) return;
  timer_ = next;
  tick_at(self_, *next);
}

}  // namespace troupe
