#include "troupe/testing/reader_contract.h"

#include <atomic>
#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <ostream>

#include "troupe/ops/error.h"
#include "troupe/testing/scene.h"

namespace troupe::contract {
namespace {

/// Counts the records that a source gives.
class CountedSource : public RecordSource {
 public:
  CountedSource(std::unique_ptr<RecordSource> source,
                std::shared_ptr<std::atomic<std::uint64_t>> count)
      : source_(std::move(source)), count_(std::move(count)) {}

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override {
    const bool more = source_->read(streams, limits);
    if (more && !streams.empty()) *count_ += streams[0].count();
    return more;
  }
  SourcePosition position() const override { return source_->position(); }
  void seek(const SourcePosition& position) override { source_->seek(position); }
  void restart(std::span<const std::size_t> order) override { source_->restart(order); }
  std::size_t file_count() const override { return source_->file_count(); }
  std::uint64_t block_bytes(const BlockLimits& limits) const override {
    return source_->block_bytes(limits);
  }
  std::string describe() const override { return source_->describe(); }
  std::string report() const override { return source_->report(); }

 private:
  std::unique_ptr<RecordSource> source_;
  std::shared_ptr<std::atomic<std::uint64_t>> count_;
};

}  // namespace

ReaderSubject reader_of(SourceFactory source, SourceFactory damaged) {
  ReaderSubject subject;
  const auto count = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto spawner = [count](const SourceFactory& make) -> ReaderSubject::Spawner {
    return [count, make](caf::actor_system& system, const ReaderOptions& options) -> Reader {
      return system.spawn(
          record_reader,
          std::shared_ptr<RecordSource>(std::make_shared<CountedSource>(make(), count)), options);
    };
  };
  subject.spawn = spawner(source);
  if (damaged) subject.spawn_damaged = spawner(damaged);
  subject.taken = [count] { return count->load(); };
  subject.source = std::move(source);
  return subject;
}

std::ostream& operator<<(std::ostream& out, const Clause& clause) { return out << clause.name; }

Outcome check(const Clause& clause, const ReaderSubject& subject) {
  Scene scene(subject);
  try {
    clause.check(scene);
  } catch (const CheckEnds&) {
    // The outcome says it.
  } catch (const std::exception& error) {
    scene.outcome().failures.push_back(text("it threw: ", error.what()));
  }
  return scene.outcome();
}

std::vector<std::string> check_reader(const ReaderSubject& subject) {
  std::vector<std::string> failures;
  for (const auto& clause : reader_clauses())
    for (const auto& failure : check(clause, subject).failures)
      failures.push_back(text(clause.name, ": ", failure));
  return failures;
}

}  // namespace troupe::contract
