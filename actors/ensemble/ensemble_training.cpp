#include "troupe/actors/ensemble/ensemble_training.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <caf/scoped_actor.hpp>
#include <cmath>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/ensemble/ensemble_resume.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/option_check.h"
#include "troupe/actors/training/training_devices.h"
#include "troupe/ops/random.h"
#include "troupe/queues/broadcast.h"
#include "troupe/queues/broadcast_branch.h"

namespace troupe {

bool EnsembleOutcome::failed() const {
  return std::any_of(members.begin(), members.end(),
                     [](const auto& member) { return member.training.ending == Ending::failed; });
}

namespace {

std::string title(const TrainedMember& member) { return text("member '", member.name, "'"); }

/// Its checkpoints are where those of all are, and are resumed when all are.
void complete(TrainedMember& member, const EnsembleTrainingOptions& o) {
  auto& c = member.options.checkpoints;
  if (!o.directory.empty()) c.directory = o.directory + "/" + member.name;
  c.resume = c.resume || (o.resume && c.resume_from.empty() && !c.directory.empty());
}

bool keeps_data(const TrainedMember& member) {
  const auto& c = member.options.checkpoints;
  return !c.directory.empty() && c.data;
}

TrainingOutcome failure(const Error& error) {
  TrainingOutcome outcome;
  outcome.ending = Ending::failed;
  outcome.code = error.code();
  outcome.message = error.what();
  return outcome;
}

}  // namespace

struct EnsembleTraining::State {
  struct Seat {
    TrainedMember member;
    caf::actor branch;
    std::uint64_t begins = 0;  ///< the number of the first batch that it gets
    std::string note;          ///< of where it begins
    EventListener events;      ///< its own, and that of all
    std::unique_ptr<Training> training;
    std::thread thread;
    TrainingOutcome outcome;
    Parameters weights;
    bool done = false;
  };

  /// With `keeps`, members have the data in their checkpoints: each finds its own by the number
  /// of the batch, so that the order must not depend on timing.
  State(const Batches& given, EnsembleTrainingOptions o, bool keeps, const EnsembleStart& start)
      : options(std::move(o)),
        keeps(keeps),
        data(keeps || options.deterministic ? given.in_order() : given),
        seed(start.seed),
        troupe(options.threads) {
    devices.emplace(troupe, options.threads, options.devices, options.threads.resolved().inter_op);
    pipeline = data.spawn(troupe, "", seed, start.from.get());
    BroadcastOptions b;
    b.queue = pipeline.queue;
    b.batch = data.rows();
    b.drop_remainder = data.remainder() == Remainder::drop;
    b.max_lag = options.max_lag;
    b.first = start.begins;
    if (keeps) b.keeper = pipeline.keeper;
    validate(b);
    source = troupe.spawn("broadcast", batch_broadcast, b);
  }

  ~State() {
    for (const auto& seat : seats) caf::anon_send_exit(seat.branch, caf::exit_reason::kill);
  }

  void check(const TrainedMember& member) const;
  TrainingOptions options_of(Seat& seat);
  /// Batches before the number are passed over.
  void seat(TrainedMember member, std::uint64_t first_batch, const std::string& note);
  void begin(Seat& seat);
  void end(Seat& seat, TrainingOutcome outcome);
  void wait();
  void score(EnsembleOutcome& outcome) const;

  const EnsembleTrainingOptions options;
  const bool keeps;  ///< the data are in checkpoints
  const Batches data;
  const std::uint64_t seed;  ///< of the pipeline
  Troupe troupe;
  std::optional<TrainingDevices> devices;
  int dealt = 0;  ///< replicas, over the devices
  Batches::Running pipeline;
  Broadcast source;
  std::list<Seat> seats;  // whose places do not change; it and what follows under the mutex
  bool begun = false;
  bool over = false;
  std::mutex mutex;
  std::mutex listener_mutex;
  std::condition_variable changed;
  std::atomic<bool> stop_requested{false};
};

// ---- members ---------------------------------------------------------------------------------

void EnsembleTraining::State::check(const TrainedMember& member) const {
  const auto& name = member.name;
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos)
    fail(Code::invalid_argument, "a member has a name, without '/' and without '.' in front, ",
         "but one is called '", name, "'");
  const auto same = std::find_if(seats.begin(), seats.end(),
                                 [&](const Seat& s) { return s.member.name == name; });
  if (same != seats.end())
    fail(
        Code::already_exists, "there is a member called '", name, "' already",
        same->done ? ", which has ended: a run does not use a name again, choose another one" : "");
  if (!(member.weight > 0) || !std::isfinite(member.weight))
    fail(Code::invalid_argument, title(member), " needs a weight above 0, but got ", member.weight);
  if (!options.evaluation) return;
  std::vector<TrainedModel> all;
  if (!seats.empty()) all.push_back({seats.front().member.name, seats.front().member.model, {}, 1});
  all.push_back({name, member.model, {}, 1});
  expect_members_fit(all);
}

TrainingOptions EnsembleTraining::State::options_of(Seat& seat) {
  auto o = seat.member.options;
  const auto& name = seat.member.name;
  o.threads = options.threads;
  o.devices = options.devices;
  o.deterministic = o.deterministic || options.deterministic;
  if (!o.evaluation.data) o.evaluation.data = options.evaluation;
  if (options.progress)
    o.progress = [this, name, own = o.progress](const Progress& progress) {
      if (own) own(progress);
      const std::lock_guard guard(listener_mutex);
      options.progress(name, progress);
    };
  if (options.events)
    o.events = [this, title = title(seat.member), own = o.events](const std::string& event) {
      if (own) own(event);
      const std::lock_guard guard(listener_mutex);
      options.events(title + ": " + event);
    };
  seat.events = o.events;
  if (options.evaluation)
    o.publish.to = [&seat, own = o.publish.to](const Parameters& weights) {
      seat.weights = weights;
      if (own) own(weights);
    };
  return o;
}

void EnsembleTraining::State::seat(TrainedMember member, std::uint64_t first_batch,
                                   const std::string& note) {
  check(member);
  auto& seat = seats.emplace_back();
  seat.member = std::move(member);
  seat.note = note;
  try {
    const bool saves = keeps && keeps_data(seat.member);
    const auto branch = troupe.system().spawn(
        broadcast_branch, BranchOptions{title(seat.member), source, data.rows(), saves});
    seat.branch = caf::actor_cast<caf::actor>(branch);
    caf::scoped_actor self{troupe.system()};
    std::optional<Error> refused;
    const auto& own = seat.member.options;
    TrainingHost host{&troupe, nullptr, branch, {}, seed, 0, first_batch};
    host.devices = std::make_shared<const TrainingDevices>(devices->beginning_with(dealt));
    if (own.device.empty()) dealt = (dealt + own.replicas) % options.devices;
    if (saves) host.keeper = branch;
    self->request(source, caf::infinite, join_atom_v, seat.branch)
        .receive([&](std::uint64_t number) { host.begins = number; },
                 [&](caf::error& error) { refused = to_error(error); });
    if (refused) throw *refused;
    seat.begins = std::max(host.begins, first_batch);
    seat.training = std::make_unique<Training>(seat.member.model, data, options_of(seat), host);
  } catch (const Error& error) {
    const auto named = error.within(title(seat.member));
    if (seat.branch) caf::anon_send_exit(seat.branch, caf::exit_reason::kill);
    seats.pop_back();
    throw named;
  }
}

void EnsembleTraining::State::begin(Seat& seat) {
  seat.thread = std::thread([this, &seat] {
    constexpr std::size_t kMost = 15;  // of Linux
    pthread_setname_np(pthread_self(), seat.member.name.substr(0, kMost).c_str());
    try {
      const auto& c = seat.member.options.checkpoints;
      if (keeps && keeps_data(seat.member) && !CheckpointDirectory(c.directory).latest())
        note_first_batch(c.directory, seat.begins);
      if (seat.events && !seat.note.empty()) seat.events(seat.note);
      end(seat, seat.training->run());
    } catch (const Error& error) {
      end(seat, failure(error));
    } catch (const std::exception& error) {
      end(seat, failure(Error(Code::internal, error.what())));
    }
  });
}

void EnsembleTraining::State::end(Seat& seat, TrainingOutcome outcome) {
  // Of a run that did not come so far as to leave.
  caf::anon_send(source, leave_atom_v, seat.branch);
  const std::lock_guard guard(mutex);
  const bool stop_all = options.fail_fast && outcome.ending == Ending::failed;
  seat.outcome = std::move(outcome);
  seat.done = true;
  if (stop_all)
    for (const auto& other : seats) other.training->request_stop();
  changed.notify_all();
}

void EnsembleTraining::State::wait() {
  constexpr std::chrono::milliseconds kLook{100};
  std::unique_lock lock(mutex);
  while (!std::all_of(seats.begin(), seats.end(), [](const Seat& s) { return s.done; })) {
    if (stop_requested.load())
      for (const auto& seat : seats) seat.training->request_stop();
    changed.wait_for(lock, kLook);
  }
  over = true;
  lock.unlock();
  for (auto& seat : seats) seat.thread.join();
}

// ---- scores ----------------------------------------------------------------------------------

void EnsembleTraining::State::score(EnsembleOutcome& outcome) const {
  std::vector<TrainedModel> models;
  std::vector<std::size_t> positions;
  std::size_t position = 0;
  for (const auto& seat : seats) {
    if (seat.outcome.ending != Ending::failed && !seat.weights.names.empty()) {
      models.push_back({seat.member.name, seat.member.model, seat.weights, seat.member.weight});
      positions.push_back(position);
    }
    ++position;
  }
  if (models.empty()) {
    outcome.not_scored = "no member has come to an end";
    return;
  }
  const auto score =
      options.score ? *options.score : score_for(options.evaluation->components().back());
  try {
    const auto scores =
        score_together(models, options.combiner, *options.evaluation, score, options.threads);
    outcome.score_name = scores.name;
    outcome.together = scores.together;
    for (std::size_t i = 0; i < positions.size(); ++i)
      outcome.members[positions[i]].score = scores.members[i];
  } catch (const Error& error) {
    outcome.not_scored = error.what();
  }
}

// ---- for users -------------------------------------------------------------------------------

EnsembleTraining::EnsembleTraining(std::vector<TrainedMember> members, const Batches& data,
                                   EnsembleTrainingOptions options) {
  if (members.empty()) fail(Code::invalid_argument, "an ensemble needs at least one member");
  if (!options.combiner) fail(Code::invalid_argument, "an ensemble needs a combiner");
  if (options.devices < 1 || options.devices > kMostOfAKind)
    fail(Code::invalid_argument, "an ensemble needs at least 1 and at most ", kMostOfAKind,
         " devices, but ", options.devices, " were asked for (EnsembleTrainingOptions::devices)");
  std::vector<StartingMember> starting;
  for (auto& member : members) {
    complete(member, options);
    starting.push_back({member.name, &member.options});
  }
  // The order of a Training that has this seed.
  const auto start = ensemble_start(starting, data, mix(options.seed ^ mix(0)), options.resume);
  const bool keeps = std::any_of(members.begin(), members.end(), keeps_data);
  state_ = std::make_unique<State>(data, std::move(options), keeps, start);
  for (std::size_t i = 0; i < members.size(); ++i)
    state_->seat(std::move(members[i]), start.first_batches[i], start.notes[i]);
}

EnsembleTraining::~EnsembleTraining() {
  if (state_) stop(state_->options.patience);
}

std::string EnsembleTraining::describe() const {
  auto& s = *state_;
  const std::lock_guard guard(s.mutex);
  auto words = text(s.data.describe(), "\n  -> broadcast, members at most ", s.options.max_lag,
                    " batches apart");
  for (const auto& seat : s.seats) {
    const auto& o = seat.member.options;
    words += text("\n    -> ", title(seat.member), ": ", o.replicas,
                  o.replicas == 1 ? " replica" : " replicas", ", ", o.optimizer, ", learning rate ",
                  o.learning_rate);
    if (!o.device.empty()) words += text(", on CPU:", device_called(o.device, s.options.devices));
  }
  if (s.options.devices > 1)
    words += text("\ndevices: ", s.options.devices, ", shared by all members");
  return words;
}

EnsembleOutcome EnsembleTraining::run() {
  if (!state_) fail(Code::failed_precondition, "the ensemble has been stopped");
  auto& s = *state_;
  {
    const std::lock_guard guard(s.mutex);
    if (s.begun) fail(Code::failed_precondition, "EnsembleTraining::run() may be called once");
    s.begun = true;
    const auto& tell = s.options.events ? s.options.events : s.seats.front().events;
    if (tell)
      for (const auto& note : s.pipeline.notes) tell(note);
    for (const auto& [name, decoder] : s.pipeline.decoders) s.troupe.tell(decoder, start_atom_v);
    for (auto& seat : s.seats) s.begin(seat);
  }
  s.wait();
  EnsembleOutcome outcome;
  for (auto& seat : s.seats)
    outcome.members.push_back({seat.member.name, seat.outcome, seat.weights, {}});
  if (s.options.evaluation)
    s.score(outcome);
  else
    outcome.not_scored = "there is no evaluation set";
  return outcome;
}

void EnsembleTraining::join(TrainedMember member) {
  auto& s = *state_;
  const std::lock_guard guard(s.mutex);
  if (s.over) fail(Code::failed_precondition, title(member), " comes too late: the run has ended");
  complete(member, s.options);
  auto& c = member.options.checkpoints;
  if (s.options.resume && !CheckpointDirectory(c.directory).latest()) c.resume = false;
  c.data_from_start = true;  // where it stood is not where the stream stands
  s.seat(std::move(member), 0, {});
  if (s.begun) s.begin(s.seats.back());
}

void EnsembleTraining::leave(const std::string& name) {
  auto& s = *state_;
  const std::lock_guard guard(s.mutex);
  for (const auto& seat : s.seats)
    if (seat.member.name == name) return seat.training->request_stop();
  fail(Code::not_found, "there is no member '", name, "'");
}

std::vector<std::pair<std::string, bool>> EnsembleTraining::members() const {
  auto& s = *state_;
  const std::lock_guard guard(s.mutex);
  std::vector<std::pair<std::string, bool>> names;
  for (const auto& seat : s.seats) names.emplace_back(seat.member.name, !seat.done);
  return names;
}

void EnsembleTraining::change(const std::string& name,
                              const std::function<void(Training&)>& change) {
  auto& s = *state_;
  std::unique_lock lock(s.mutex);
  const auto seat = std::find_if(s.seats.begin(), s.seats.end(),
                                 [&](const auto& one) { return one.member.name == name; });
  if (seat == s.seats.end()) fail(Code::not_found, "there is no member '", name, "'");
  lock.unlock();  // it stays where it is, and may take its time
  try {
    change(*seat->training);
  } catch (const Error& error) {
    throw error.within(title(seat->member));
  }
}

PipelineEdits EnsembleTraining::edits() { return {state_->troupe, state_->pipeline.keeper}; }

void EnsembleTraining::request_stop() noexcept { state_->stop_requested.store(true); }

std::vector<std::string> EnsembleTraining::stop(std::chrono::milliseconds deadline) {
  if (!state_) return {};
  auto& s = *state_;
  std::vector<std::string> left;
  for (auto& seat : s.seats) {
    for (const auto& name : seat.training->stop(deadline))
      left.push_back(title(seat.member) + ": " + name);
    caf::anon_send_exit(seat.branch, caf::exit_reason::kill);
    seat.training.reset();
  }
  s.pipeline = {};
  s.source = Broadcast();
  s.devices.reset();
  for (const auto& name : s.troupe.stop(deadline)) left.push_back(name);
  if (left.empty())
    state_.reset();
  else
    (void)state_.release();  // its actors may still run: there is no way to take their memory
  return left;
}

}  // namespace troupe
