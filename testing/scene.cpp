#include "troupe/testing/scene.h"

#include <caf/exit_reason.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

namespace troupe::contract {
namespace {

// More work than any finite data is worth.
constexpr std::size_t kMostSteps = 1'000'000;
constexpr int kMostTimers = 1'000;

caf::scheduler::test_coordinator& stepper(caf::actor_system& system) {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
}

}  // namespace

struct Scene::Config : SystemConfig {
  explicit Config(bool threads) : SystemConfig({2, 1}) {
    if (!threads) set("scheduler.policy", caf::atom("testing"));
  }
};

Scene::Scene(const ReaderSubject& subject)
    : subject_(subject),
      config_(std::make_unique<Config>(subject.threads)),
      system_(std::make_unique<caf::actor_system>(*config_)) {}

Scene::~Scene() {
  for (auto* actors : {&clients_, &readers_}) {
    for (const auto& actor : *actors) caf::anon_send_exit(actor, caf::exit_reason::kill);
    actors->clear();
    if (!subject_.threads) stepper(*system_).run(kMostSteps);
  }
}

Reader Scene::keep(Reader reader) {
  readers_.push_back(caf::actor_cast<caf::actor>(reader));
  return reader;
}

Reader Scene::spawn(const ReaderOptions& options) {
  return keep(subject_.spawn(*system_, options));
}

Reader Scene::spawn_damaged(const ReaderOptions& options) {
  if (!subject_.spawn_damaged) skip("there are no damaged data (ReaderSubject::spawn_damaged)");
  return keep(subject_.spawn_damaged(*system_, options));
}

void Scene::run() {
  stepper(*system_).run(kMostSteps);
  if (stepper(*system_).has_job()) fail("it goes on working without an end");
}

bool Scene::run_until(const std::function<bool()>& done) {
  for (int timers = 0; timers < kMostTimers; ++timers) {
    run();
    if (done()) return true;
    if (!stepper(*system_).trigger_timeout()) return false;
  }
  return false;
}

void Scene::settle(const Reader& reader) {
  if (!subject_.threads) return run();
  // What it sends to itself stands between these requests.
  constexpr int kRounds = 200;
  for (int i = 0; i < kRounds; ++i)
    ask<StageStatus>(reader, "a request for its status", status_atom_v);
}

void Scene::step() {
  if (!subject_.threads) stepper(*system_).try_run_once();
}

void Scene::send_exit(const caf::actor& actor) {
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

}  // namespace troupe::contract
