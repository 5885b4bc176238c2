#include "troupe/messages/system_config.h"

#include <gtest/gtest.h>

#include <atomic>
#include <caf/all.hpp>
#include <memory>
#include <thread>

#include "troupe/messages/protocol.h"

namespace troupe {
namespace {

TEST(ASystemOfOneWorker, GivesEverybodyATurnWhileTwoActorsKeepEachOtherBusy) {
  SystemConfig config({.inter_op = 1, .intra_op = 1});
  caf::actor_system system(config);
  const auto turns = std::make_shared<std::atomic<int>>(0);
  const auto over = std::make_shared<std::atomic<bool>>(false);
  // Each wakes the other, until a third one, which nobody of them wakes, has had a turn.
  const auto player = [=](caf::event_based_actor* self) -> caf::behavior {
    return {[=](next_atom, const caf::actor& other) {
      ++*turns;
      if (!over->load()) self->send(other, next_atom_v, caf::actor_cast<caf::actor>(self));
    }};
  };
  const auto a = system.spawn(player);
  const auto b = system.spawn(player);
  const auto third = system.spawn([=](caf::event_based_actor*) -> caf::behavior {
    return {[=](stop_atom) { over->store(true); }};
  });
  caf::anon_send(a, next_atom_v, b);
  while (turns->load() < 100) std::this_thread::yield();
  caf::anon_send(third, stop_atom_v);
  while (!over->load()) std::this_thread::yield();
  EXPECT_GE(turns->load(), 100);
  for (const auto& actor : {a, b, third}) caf::anon_send_exit(actor, caf::exit_reason::kill);
}

}  // namespace
}  // namespace troupe
