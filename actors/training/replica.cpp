#include "troupe/actors/training/replica.h"

#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "troupe/actors/training/replica_course.h"
#include "troupe/actors/training/replica_sets.h"
#include "troupe/actors/training/replica_shards.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ReplicaSelf;
using OptionsPtr = ReplicaOptionsPtr;
using Clock = ReplicaState::Clock;

void load(Self self, const OptionsPtr& options, const FragmentSpec& spec,
          const std::function<void(FragmentId)>& loaded) {
  self->request(options->device, caf::infinite, load_atom_v, spec)
      .then([loaded](FragmentId id) { loaded(id); },
            [self, options](caf::error& error) { abort_run(self, options, error); });
}

void load_fragments(Self self, const OptionsPtr& options) {
  const auto load_main = [self, options] {
    load(self, options, options->fragment.spec, [self, options](FragmentId id) {
      self->state.fragment = id;
      self->state.loaded = true;
      advance(self, options);
    });
  };
  if (!options->fragment.ids.graph) return load_main();
  load(self, options, options->fragment.ids, [self, load_main](FragmentId id) {
    self->state.ids_fragment = id;
    load_main();
  });
}

}  // namespace

Replica::behavior_type replica(ReplicaSelf self, ReplicaOptions given) {
  const auto options = std::make_shared<const ReplicaOptions>(std::move(given));
  auto& s = self->state;
  s.title = text("replica ", options->index);
  for (const auto& shard : options->shards) s.shards.push_back({shard, false, false, {}, {}});
  s.feed_of.resize(options->shards.size());
  s.versions.resize(options->shards.size());
  s.parameters.resize(options->fragment.variables.size());
  s.sparse_rows.resize(options->fragment.parts.size() + 1);
  s.accumulated = GradientAccumulator(options->fragment.parts.size());
  s.compressor = GradientCompressor(options->compression);
  s.loss_scale = LossScale(options->loss_scale);
  s.remembers = !options->memories;
  // It ends, but not without a word.
  self->set_exception_handler([self](std::exception_ptr&) -> caf::error {
    return fault(to_error(current_failure()).within(self->state.title));
  });
  return {
      [self, options](start_atom) -> caf::result<std::uint64_t> {
        auto& s = self->state;
        if (s.running)
          return fault(Code::failed_precondition, s.title, " has been started already");
        s.running = s.started_once = true;
        s.idle_since = Clock::now();
        s.clock.enter(StageActivity::waiting_for_input);
        s.started = self->make_response_promise<std::uint64_t>();
        load_fragments(self, options);
        s.missing_parameters = s.shards.size();
        find_shards(self, options);
        ask_for_batch(self, options);
        return s.started;
      },
      [self, options](stop_atom) {
        self->state.stopping = true;
        if (self->state.missing_parameters > 0)  // others have not joined yet, perhaps never
          finish(self, options);
        else
          advance(self, options);
        return caf::ok_atom_v;
      },
      [self](status_atom) { return self->state.clock.read(); },
      [self, options](give_up_atom, Version newest) { give_up(self, options, newest); },
      [self, options](redirect_atom, std::uint32_t shard, const Shard& handle) {
        redirect(self, options, shard, handle);
      },
      [self, options](output_atom, std::uint64_t run, std::uint32_t index, Tensor& value) {
        auto& s = self->state;
        if (run != s.runs || s.committed || !s.in_set) return;
        take_output(self, options, index, value);
        ++s.outputs;
        end_batch_if_complete(self, options);
      },
  };
}

}  // namespace troupe
